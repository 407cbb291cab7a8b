// Text without the white space around it.
#pragma once

#include <cstddef>
#include <string_view>

namespace recordpipe::tfds {

// As Python's strip(), of ASCII.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

}  // namespace recordpipe::tfds
