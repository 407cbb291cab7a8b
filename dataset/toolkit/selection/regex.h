// Searches bytes for a regular expression, in time that is linear in their number whatever the
// pattern: a deterministic automaton that is built while it runs, in bounded memory. (Backtracking,
// as in std::regex, takes exponential time for some patterns and overflows the stack for long
// texts.)
//
// The syntax is the part of RE2's and Python's that decides whether a text matches:
//
//     .  [a-z]  [^a-z]  \d \w \s \D \W \S     a character; "." is none of \n
//     ab  a|b  (a)  (?:a)
//     a*  a+  a?  a{3}  a{3,}  a{3,5}          also lazy (a*?), which matches the same texts
//     ^  $  \A  \z  \b  \B                     begin and end of the text; word boundaries
//     (?i)  (?s)  (?i:a)                       ignore the case of letters; "." matches \n, too
//     \n \t \r \f \v \. \x41 \x{263a}
//
// Texts and patterns are UTF-8: "." and classes match whole characters, never other bytes. \xNN
// from \x80 on, and bytes of the pattern that are not UTF-8, match that byte. \d, \w, \s and \b
// know only ASCII; (?i) knows the letters of Unicode, as Python's re. There are no back-references
// and no look-around.
#pragma once

#include <memory>
#include <string_view>

namespace recordpipe {

class Regex {
 public:
  // Throws Error{invalid_argument} for a syntax error, with the byte of the pattern, and for a
  // pattern that is too large: groups nested more than 100 deep, more than 1000 repetitions, or
  // 10,000 instructions after repetitions are written out.
  explicit Regex(std::string_view pattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // Whether the pattern matches anywhere in the text. Thread-safe.
  bool found_in(std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
