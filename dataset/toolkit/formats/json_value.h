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

  // Whether the value is bytes in base64, {"base64": "aGk="}, or bytes of any form.
  bool is_base64() const {
    return kind == Kind::object && members.size() == 1 && members.front().first == "base64" &&
           members.front().second.kind == Kind::string;
  }
  bool is_bytes() const { return kind == Kind::string || is_base64(); }
  // Whether the value is a whole number, written without a point or an exponent, that int64 can't
  // hold. Its kind is floating.
  bool is_beyond_int64() const {
    return kind == Kind::floating && text.find_first_not_of("-0123456789") == text.npos;
  }

  // Returns the value of the member `name`, or null if there is none.
  const JsonValue* find(std::string_view name) const {
    for (const auto& [key, value] : members) {
      if (key == name) return &value;
    }
    return nullptr;
  }
};

// Throws Error{corrupted} for invalid JSON, nesting deeper than 8 levels, or a duplicate member,
// and Error{unsupported} for a number that not even double can hold. Of the words for non-finite
// numbers, only NaN, Infinity and -Infinity are accepted.
JsonValue parse_json(std::string_view text);

// Decodes base64: "aGk=" → "hi". Throws Error{corrupted} if `text` is not base64.
std::string decode_base64(std::string_view text);

}  // namespace recordpipe
