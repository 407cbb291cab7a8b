// Reads and prints messages of a type that the user describes, with Protocol Buffers' dynamic
// messages.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/toolkit/where.h"

namespace recordpipe {

class ProtoMessages {
 public:
  // `path`: a .proto file, whose imports are looked for in `folders`, its own folder and the
  // current one; or, with any other ending, a FileDescriptorSet (protoc --include_imports
  // --descriptor_set_out). `type`: the message's name, with or without its package.
  //
  // Throws Error{corrupted} with the line of a syntax error, Error{not_found} for a missing file or
  // type, with the types that there are, and Error{unsupported} if the program was built without
  // Protocol Buffers.
  ProtoMessages(const std::string& path, const std::string& type,
                const std::vector<std::string>& folders);
  ~ProtoMessages();

  // The full name of the type.
  const std::string& type() const;
  // Whether the type has the field, of a nested message by its path: "image.camera.name".
  bool has_field(const std::string& path) const;

  // The functions below are thread-safe, and throw Error{corrupted} if the record is no such
  // message.

  // One line of JSON, as protobuf defines it, with the names of the .proto file. Unknown fields,
  // which JSON leaves out, are counted in `unknown_fields`.
  std::string json(std::span<const std::byte> record, size_t& unknown_fields) const;
  // Protobuf's text format, in which unknown fields have their numbers.
  std::string text(std::span<const std::byte> record) const;
  // A serialised Example, for expressions about the message: each field that is set is a feature,
  // named by its path ("image.camera.name"); the values of repeated messages follow each other.
  // Booleans are 0 and 1, enumerations their names. The values of doubles and of uint64s are in
  // `exact` only.
  struct Features {
    std::string example = {};
    Where::ExactNumbers exact = {};
  };
  Features features(std::span<const std::byte> record) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace recordpipe
