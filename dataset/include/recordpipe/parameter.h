// What something was given, as text: for people to read, and to tell whether two of a kind do the
// same.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace recordpipe {

// The shortest text that reads back as the same number.
std::string shortest_text(std::floating_point auto number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

struct Parameter {
  Parameter(std::string_view parameter, std::string text)
      : name(parameter), value(std::move(text)) {}
  Parameter(std::string_view parameter, std::integral auto number)
      : name(parameter), value(std::to_string(number)) {}
  Parameter(std::string_view parameter, bool yes)
      : name(parameter), value(yes ? "true" : "false") {}

  std::string name;
  std::string value;
};

}  // namespace recordpipe
