// Colours of text on a terminal (ECMA-48).
#pragma once

#include <string>
#include <string_view>

namespace recordpipe {

enum class Color { none, path, number, heading, name, kind };

// `text` in a color, if `colored`. The colors of paths and numbers are those of grep.
inline std::string painted(std::string_view text, Color color, bool colored) {
  const auto with = [&](std::string_view code) {
    return std::string("\x1b[").append(code).append("m").append(text).append("\x1b[m");
  };
  if (!colored || text.empty()) return std::string(text);
  switch (color) {
    case Color::none:
      break;
    case Color::path:
      return with("35");
    case Color::number:
      return with("32");
    case Color::heading:
      return with("1");
    case Color::name:
      return with("36");
    case Color::kind:
      return with("2");
  }
  return std::string(text);
}

}  // namespace recordpipe
