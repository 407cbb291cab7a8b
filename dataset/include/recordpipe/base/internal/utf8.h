// Checks for well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above
// U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace recordpipe {

// Returns the length in bytes of the well-formed sequence at the start of `text` (not empty); 0 if
// there is none.
constexpr size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

constexpr bool is_utf8(std::string_view text) {
  unsigned char all_bits = 0;
  for (const char c : text) all_bits |= static_cast<unsigned char>(c);
  if (all_bits < 0x80) return true;  // ASCII
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace recordpipe
