// Parses JSON for records: distinguishes integers from floats, keeps floats as exact as their text,
// and accepts NaN and Infinity as Python writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordpipe {

struct JsonValue {
  enum class Kind { null, integer, floating, string, array, object };

  Kind kind = Kind::null;
  int64_t integer = 0;    // for integers, true and false
  std::string text = {};  // a string, or the text of a number
  std::vector<JsonValue> items = {};
  std::vector<std::pair<std::string, JsonValue>> members = {};

  // Returns the value of the member `name`, or null if there is none.
  const JsonValue* find(std::string_view name) const {
    for (const auto& [key, value] : members) {
      if (key == name) return &value;
    }
    return nullptr;
  }
};

// Throws Error{corrupted} for invalid JSON, nesting deeper than 8 levels, or a duplicate member. Of
// the words for non-finite numbers, only NaN, Infinity and -Infinity are accepted.
JsonValue parse_json(std::string_view text);

// Decodes base64: "aGk=" → "hi". Throws Error{corrupted} if `text` is not base64.
std::string decode_base64(std::string_view text);

}  // namespace recordpipe
