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
  enum class Kind {
    value,
    code,          // a fingerprint of a function's code: compared, but not shown by explain()
    not_compared,  // names what the fingerprint leaves out
    called,        // how a profile names the function: "decode", "<lambda> at train.py:12"
  };

  // `text` may be any bytes.
  Parameter(std::string_view parameter, std::string_view text, Kind of_kind = Kind::value)
      : name(parameter), value(text), kind(of_kind) {}
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
  Kind kind = Kind::value;
};

}  // namespace recordpipe
