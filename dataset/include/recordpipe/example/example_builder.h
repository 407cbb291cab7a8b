// Serialises tf.train.Example deterministically: keys sorted, lists packed. The bytes equal the
// bytes of protobuf's deterministic serialisation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/example/internal/feature_writer.h"

namespace recordpipe {

class ExampleBuilder {
 public:
  // Each function sets one feature, and replaces an earlier feature of the same name. Values are
  // copied.
  ExampleBuilder& set_bytes(std::string_view name, std::span<const std::byte> value);
  ExampleBuilder& set_bytes(std::string_view name, std::string_view value) {
    return set_bytes(name, std::as_bytes(std::span(value)));
  }
  ExampleBuilder& set_bytes_list(std::string_view name,
                                 std::span<const std::span<const std::byte>> values);
  ExampleBuilder& set_int64(std::string_view name, int64_t value);
  ExampleBuilder& set_int64s(std::string_view name, std::span<const int64_t> values);
  ExampleBuilder& set_float(std::string_view name, float value);
  ExampleBuilder& set_floats(std::string_view name, std::span<const float> values);

  // Removes all features.
  void clear();
  // Appends the serialised Example to `out`. Throws Error{invalid_argument} if the name of a
  // feature is not UTF-8: no protobuf would parse the record.
  void append_to(std::string& out) const;
  std::string serialize() const;

 private:
  ExampleBuilder& set(std::string_view name, std::string feature);

  SerializedFeatures features_;
};

}  // namespace recordpipe
