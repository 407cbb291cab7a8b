// Reads the JSON files of TFDS. They are protobuf messages in JSON: names are in camelCase or
// snake_case, int64s are numbers or strings, and what is absent has a default value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"

namespace recordpipe::tfds {

using Json = nlohmann::json;

// Throws Error with the path: not_found, corrupted, and limit_exceeded for more than 64 MiB.
std::string read_text(FileSystem& file_system, const std::string& path);
// Throws Error{corrupted} with the path: also if it nests more than 1,000 levels deep.
Json parse_json(std::string_view text, const std::string& path);

// A JSON object, with its place in the file for messages.
class JsonObject {
 public:
  // Throws Error{corrupted} if `json` is not an object.
  JsonObject(const Json& json, std::string path, std::string place);

  const std::string& path() const { return path_; }
  const std::string& place() const { return place_; }
  // The member `name`, in camelCase or snake_case; null if it is absent or null.
  const Json* find(std::string_view name) const;
  // Return the member, or the default if it is absent. Throw Error{corrupted} for another type.
  std::string text(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t absent = 0) const;
  bool flag(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  // Its members.
  const Json& json() const { return json_; }
  JsonObject object(const Json& member, const std::string& name) const {
    return {member, path_, place_.empty() ? name : place_ + "." + name};
  }

  [[noreturn]] void fail(const std::string& reason, ErrorKind kind = ErrorKind::corrupted,
                         const std::string& hint = {}) const;
  // An int64, as a number or as text.
  int64_t integer_of(const Json& value, std::string_view name) const;

 private:
  const Json& json_;
  std::string path_;
  std::string place_;
};

}  // namespace recordpipe::tfds
