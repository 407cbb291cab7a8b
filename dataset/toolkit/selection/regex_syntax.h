// The syntax tree of a regular expression, which regex_program.h compiles.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace recordpipe {

// Code points [first, last].
struct RegexRange {
  uint32_t first = 0;
  uint32_t last = 0;

  bool operator==(const RegexRange&) const = default;
};

inline constexpr uint32_t kLastCodePoint = 0x10FFFF;

struct RegexNode {
  enum class Kind {
    byte,   // the byte `min`
    chars,  // a character in `ranges`, which are sorted and disjoint; in UTF-8
    sequence,
    alternatives,
    repetition,  // of parts[0], `min` to `max` times
    begin,
    end,
    word_boundary,
    not_word_boundary,
  };
  static constexpr uint32_t kNoMaximum = UINT32_MAX;

  Kind kind = Kind::sequence;
  std::vector<RegexNode> parts = {};
  std::vector<RegexRange> ranges = {};
  uint32_t min = 0;
  uint32_t max = 0;
};

// Throws the errors of compile_regex(). The tree is at most three levels deep per nested group.
RegexNode parse_regex(std::string_view pattern);

}  // namespace recordpipe
