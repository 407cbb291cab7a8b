// Upper case to lower case, of ASCII letters only: tolower() depends on the locale.
#pragma once

#include <string>
#include <string_view>

namespace recordpipe {

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace recordpipe
