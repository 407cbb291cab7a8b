#include "dataset/toolkit/where/regex.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <re2/re2.h>

#include "dataset/base/one_line.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"

namespace recordpipe {
namespace {

using re2::RE2;

constexpr size_t kMaxPatternBytes = 10'000;
// Of the compiled pattern and of the states of its automaton. (RE2 continues without an automaton
// if the states need more.)
constexpr int64_t kMaxRegexBytes = int64_t{8} << 20;

[[noreturn]] void fail_pattern(std::string reason) {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = std::move(reason)});
}

// Whether the pattern has bytes that are not UTF-8, or \xNN from \x80 on.
bool is_of_bytes(std::string_view pattern) {
  if (!is_utf8(pattern)) return true;
  for (size_t i = 0; i + 2 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    ++i;  // to the character that is escaped, which may be a backslash
    if (pattern[i] == 'x' &&
        std::string_view("89abcdefABCDEF").find(pattern[i + 1]) != pattern.npos)
      return true;
  }
  return false;
}

RE2::Options options_of(std::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMaxRegexBytes);
  if (is_of_bytes(pattern)) options.set_encoding(RE2::Options::EncodingLatin1);
  return options;
}

// "byte 3 of the pattern: bad repetition operator: **"
std::string problem_of(const RE2& regex) {
  constexpr size_t kMaxShown = 100;
  if (regex.error_code() == RE2::ErrorPatternTooLarge) return "the pattern is too large";
  const std::string_view pattern = regex.pattern();
  const std::string_view part = regex.error_arg();
  const bool is_part = regex.error_code() != RE2::ErrorMissingParen &&
                       regex.error_code() != RE2::ErrorUnexpectedParen;  // these have the pattern
  const size_t at = pattern.find(part);
  std::string reason = "the pattern: ";
  if (is_part && !part.empty() && at == pattern.rfind(part)) {
    reason = "byte " + std::to_string(at + 1) + " of " + reason;
  }
  const std::string& text = regex.error();  // ends with `part`
  reason += text.substr(0, text.size() - part.size()) + one_line(part.substr(0, kMaxShown));
  if (part.size() > kMaxShown) reason += "...";
  const std::string_view rest = pattern.substr(std::min(at, pattern.size()));
  if (rest.starts_with("(?=") || rest.starts_with("(?!") || rest.starts_with("(?<=") ||
      rest.starts_with("(?<!")) {
    reason += ", look-around isn't supported";
  } else if (part.size() == 2 && part >= "\\1" && part <= "\\9") {
    reason += ", back-references aren't supported";
  }
  return reason;
}

}  // namespace

Regex::Regex(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) fail_pattern("the pattern is too large");
  // A string, because newer versions don't take a std::string_view.
  regex_ = std::make_unique<const RE2>(std::string(pattern), options_of(pattern));
  if (!regex_->ok()) fail_pattern(problem_of(*regex_));
}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::found_in(std::string_view text) const {
  return regex_->Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

}  // namespace recordpipe
