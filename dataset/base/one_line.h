// Turns untrusted text into one line of a message, for terminals and logs.
#pragma once

#include <string>
#include <string_view>

#include "recordpipe/base/internal/utf8.h"

namespace recordpipe {

enum class Backslashes { keep, escape };

// Writes control characters (U+0000 to U+001F, U+007F to U+009F) and bytes that are not valid UTF-8
// as \xNN. Idempotent with Backslashes::keep.
inline std::string one_line(std::string_view text, Backslashes backslashes = Backslashes::keep) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto is_control = [](std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) return first < 0x20 || first == 0x7f;
    // Terminals may interpret U+009B as ESC [.
    return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  };
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(character) ||
        (character == "\\" && backslashes == Backslashes::escape)) {
      for (const char c : character) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      }
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace recordpipe
