// Braces in file names: "train-{000..127}.tfrecord" and "{train,val}.tfrecord", as bash expands
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace recordpipe {

// A text with braces, parsed.
//
//   {a,b,c}     each of the texts, which may contain braces
//   {8..11}     numbers, ascending or descending; {08..11} pads to the longer one with zeros
//   {0..96..8}  every eighth number
//   {a..e}      letters of one case
//
// As in bash, a backslash escapes the next character (and stays in the words), and all other braces
// are literal: unbalanced ones, and those without a comma or a range. Unlike in bash, quotes and $
// have no meaning, and a range from a lower-case to an upper-case letter is literal.
class BracePattern {
 public:
  // Throws Error{limit_exceeded} for more than 128 KiB, 1,000 opening braces or 64 nested ones.
  explicit BracePattern(std::string_view text);

  // Whether there is anything to expand; otherwise the text is the only word.
  bool expands() const;
  // Returns the words in bash's order: the first braces change last. Leaves out empty words. Throws
  // Error{limit_exceeded}, before it takes memory, if the text stands for more than `most` words or
  // for more than 256 MiB.
  std::vector<std::string> words(size_t most) const;

 private:
  struct Range {
    int64_t first = 0;
    int64_t last = 0;
    uint64_t step = 1;
    size_t width = 0;  // with zeros on the left; 0: as long as the number
    bool is_letters = false;
  };
  struct Part;
  using Sequence = std::vector<Part>;
  using Choice = std::vector<Sequence>;
  struct Part {
    std::variant<std::string, Range, Choice> content;
  };
  // Of words; not exact above 2^53, where only the limit matters.
  struct Extent {
    double words = 0;
    double bytes = 0;
  };

  static Sequence parse(std::string_view text, size_t depth);
  static bool parse_range(std::string_view text, Range& range);
  static Extent extent_of(const Part& part);
  static Extent extent_of(const Sequence& sequence);
  static std::vector<std::string> expand(const Range& range);
  static std::vector<std::string> expand(const Part& part);
  static std::vector<std::string> expand(const Sequence& sequence);

  Sequence sequence_;
};

}  // namespace recordpipe
