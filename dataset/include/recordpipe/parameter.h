// The parameters of an operation as text: for descriptions, and to compare two operations of the
// same kind.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace recordpipe {

// The shortest decimal text that parses to the same value.
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
