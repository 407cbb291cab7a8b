// Searches bytes for a regular expression through RE2, in time that is linear in their number and
// in bounded memory, whatever the pattern. (Backtracking, as in std::regex, takes exponential time
// for some patterns and overflows the stack for long texts.)
//
// The syntax is RE2's (https://github.com/google/re2/wiki/Syntax), without back-references and
// look-around. Patterns and texts are UTF-8: "." and classes match whole characters, never other
// bytes. A pattern that has \xNN from \x80 on, or bytes that are not UTF-8, is one of bytes: "."
// and classes match single bytes, and \xNN is that byte.
#pragma once

#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace recordpipe {

class Regex {
 public:
  // Throws Error{invalid_argument} for a syntax error, with the part of the pattern, and its byte
  // if that part occurs once; and for a pattern that is too large: more than 10,000 bytes, more
  // than 1000 repetitions, or more than 8 MiB when compiled.
  explicit Regex(std::string_view pattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // Whether the pattern matches anywhere in the text. Thread-safe.
  bool found_in(std::string_view text) const;

 private:
  std::unique_ptr<const re2::RE2> regex_;
};

}  // namespace recordpipe
