// Compiles a regular expression into a program of byte ranges, splits and assertions, which regex.h
// runs. regex.h describes the syntax.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace recordpipe {

struct RegexInstruction {
  enum class Kind : uint8_t {
    range,              // consumes a byte in [low, high]
    split,              // continues at `next` and at `other`
    begin,              // asserts the begin of the text
    end,                // asserts the end of the text
    word_boundary,      // asserts that one of the neighbouring bytes is of a word, and one isn't
    not_word_boundary,  // asserts the contrary
    match,
  };

  Kind kind = Kind::match;
  uint8_t low = 0;
  uint8_t high = 0;
  uint32_t next = 0;
  uint32_t other = 0;
};

struct RegexProgram {
  std::vector<RegexInstruction> instructions = {};
  uint32_t first = 0;
  bool is_anchored = false;  // matches only at the begin of the text
};

// The limits of a pattern: program size and nested groups.
inline constexpr size_t kMostRegexInstructions = 10'000;
inline constexpr int kMostRegexDepth = 100;
inline constexpr uint32_t kMostRegexRepetitions = 1000;

// Throws Error{invalid_argument} whose reason begins with "byte N of the pattern: ", N from 1, or
// says that the pattern is too large.
RegexProgram compile_regex(std::string_view pattern);

// Letters, digits and _ of ASCII.
constexpr bool is_word_byte(uint8_t byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

}  // namespace recordpipe
