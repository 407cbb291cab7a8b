// Represents the parameters of an operation as text: for descriptions, and to compare two
// operations of the same kind.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace recordpipe {

// Returns the shortest decimal text that parses to the same value.
std::string shortest_text(std::floating_point auto number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

struct Parameter {
  // `text` may be any bytes.
  Parameter(std::string_view parameter, std::string_view text) : name(parameter), value(text) {}
  // Clang 16 crashes on inherited constructors whose requires clause names a function parameter.
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Parameter(std::string_view parameter, Number number)
      : name(parameter), value(std::to_string(number)) {}
  Parameter(std::string_view parameter, std::floating_point auto number)
      : name(parameter), value(shortest_text(number)) {}
  // A template, because pointers and numbers would convert to bool.
  Parameter(std::string_view parameter, std::same_as<bool> auto yes)
      : name(parameter), value(yes ? "true" : "false") {}

  std::string name;
  std::string value;
};

}  // namespace recordpipe
