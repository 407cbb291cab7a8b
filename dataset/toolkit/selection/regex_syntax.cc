#include "dataset/toolkit/selection/regex_syntax.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "dataset/toolkit/selection/regex_program.h"
#include "dataset/toolkit/selection/unicode_case.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/utf8.h"

namespace recordpipe {
namespace {

using NodeKind = RegexNode::Kind;
using Ranges = std::vector<RegexRange>;

// Sorts, and joins ranges that overlap or touch.
Ranges joined(Ranges ranges) {
  std::ranges::sort(ranges, {}, &RegexRange::first);
  Ranges out;
  for (const RegexRange& range : ranges) {
    if (!out.empty() && range.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

Ranges complement(const Ranges& ranges) {
  Ranges out;
  uint32_t next = 0;
  for (const RegexRange& range : joined(ranges)) {
    if (range.first > next) out.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) out.push_back({next, kLastCodePoint});
  return out;
}

void append_ranges(Ranges& to, const Ranges& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Ranges with_all_cases(Ranges ranges) {
  append_other_cases(ranges);
  return joined(std::move(ranges));
}

// The class of \d, \w or \s, complemented for a capital letter; nullopt for any other letter.
std::optional<Ranges> named_class(char letter) {
  switch (letter) {
    case 'd':
      return Ranges{{'0', '9'}};
    case 'w':
      return Ranges{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    case 's':
      return Ranges{{'\t', '\r'}, {' ', ' '}};
    case 'D':
    case 'W':
    case 'S':
      return complement(*named_class(static_cast<char>(letter - 'A' + 'a')));
    default:
      return std::nullopt;
  }
}

// Parses by recursive descent:
//   alternatives = sequence {"|" sequence}
//   sequence     = {atom [repetition]}
//   atom         = "(" ["?" flags [":"]] alternatives ")" | class | "." | escape | character
class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : pattern_(pattern) {}

  RegexNode parse() {
    RegexNode whole = alternatives();
    if (at_ < pattern_.size()) fail(at_, "unmatched )");
    return whole;
  }

 private:
  struct Flags {
    bool ignores_case = false;
    bool dot_is_any = false;  // . matches \n, too
  };

  [[noreturn]] static void fail(size_t at, const std::string& what) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "byte " + std::to_string(at + 1) + " of the pattern: " + what});
  }

  bool ended() const { return at_ == pattern_.size(); }
  char peek() const { return ended() ? '\0' : pattern_[at_]; }
  bool take(char c) {
    if (ended() || pattern_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  RegexNode alternatives() {
    RegexNode node = {.kind = NodeKind::alternatives};
    do {
      node.parts.push_back(sequence());
    } while (take('|'));
    return node.parts.size() > 1 ? std::move(node) : std::move(node.parts.front());
  }

  RegexNode sequence() {
    RegexNode node = {.kind = NodeKind::sequence};
    while (!ended() && peek() != '|' && peek() != ')') {
      const size_t begin = at_;
      std::optional<RegexNode> part = atom();
      if (!part) continue;  // flags
      repeat(*part, begin);
      node.parts.push_back(std::move(*part));
    }
    return node;
  }

  void repeat(RegexNode& part, size_t begin) {
    uint32_t min = 0;
    uint32_t max = RegexNode::kNoMaximum;
    if (take('+')) {
      min = 1;
    } else if (take('?')) {
      max = 1;
    } else if (!take('*') && !counts(min, max)) {
      return;
    }
    take('?');  // a lazy repetition matches the same texts
    const size_t next = at_;
    uint32_t ignored = 0;
    if (peek() == '*' || peek() == '+' || peek() == '?' || counts(ignored, ignored)) {
      fail(next, "a repetition of a repetition; use parentheses");
    }
    if (min > max) fail(begin, "a repetition whose minimum is above its maximum");
    RegexNode node = {.kind = NodeKind::repetition, .min = min, .max = max};
    node.parts.push_back(std::move(part));
    part = std::move(node);
  }

  // Takes {3}, {3,} or {3,5}. Other braces are characters.
  bool counts(uint32_t& min, uint32_t& max) {
    const size_t begin = at_;
    const auto no = [&] {
      at_ = begin;
      return false;
    };
    if (!take('{')) return false;
    const auto least = number();
    if (!least) return no();
    std::optional<uint32_t> most = least;
    if (take(',')) most = peek() == '}' ? RegexNode::kNoMaximum : number();
    if (!most || !take('}')) return no();
    if (*least > kMostRegexRepetitions ||
        (*most > kMostRegexRepetitions && *most != RegexNode::kNoMaximum)) {
      fail(begin, "more than 1000 repetitions");
    }
    min = *least;
    max = *most;
    return true;
  }
  std::optional<uint32_t> number() {
    uint32_t value = 0;
    const char* const from = pattern_.data() + at_;
    const auto read = std::from_chars(from, pattern_.data() + pattern_.size(), value);
    if (read.ptr == from) return std::nullopt;
    at_ += static_cast<size_t>(read.ptr - from);
    return read.ec == std::errc() ? value : kMostRegexRepetitions + 1;
  }

  // Returns nullopt for flags: (?i).
  std::optional<RegexNode> atom() {
    const size_t begin = at_;
    if (take('(')) return group(begin);
    if (take('[')) {
      return RegexNode{.kind = NodeKind::chars, .ranges = joined(char_class(begin))};
    }
    if (take('.')) return chars(flags_.dot_is_any ? complement({}) : complement({{'\n', '\n'}}));
    if (take('^')) return RegexNode{.kind = NodeKind::begin};
    if (take('$')) return RegexNode{.kind = NodeKind::end};
    if (peek() == '*' || peek() == '+' || peek() == '?') fail(at_, "nothing to repeat");
    if (take('\\')) return escape(begin);
    return character();
  }

  std::optional<RegexNode> group(size_t begin) {
    if (++depth_ > kMostRegexDepth) fail(begin, "groups nested more than 100 deep");
    const Flags outer = flags_;
    if (take('?')) {
      while (take_flag()) continue;
      if (take(')')) {
        --depth_;
        return std::nullopt;  // for the rest of the group around them
      }
      if (!take(':')) fail(begin, "a group that isn't supported: only (...), (?:...), (?i), (?s)");
    }
    RegexNode inner = alternatives();
    if (!take(')')) fail(begin, "missing )");
    flags_ = outer;
    --depth_;
    return inner;
  }
  bool take_flag() {
    if (take('i')) return flags_.ignores_case = true;
    if (take('s')) return flags_.dot_is_any = true;
    return false;
  }

  RegexNode chars(Ranges ranges) const {
    ranges = flags_.ignores_case ? with_all_cases(std::move(ranges)) : joined(std::move(ranges));
    return {.kind = NodeKind::chars, .ranges = std::move(ranges)};
  }

  // A byte that isn't valid UTF-8 stands for itself.
  RegexNode character() {
    const std::optional<uint32_t> point = code_point();
    if (point) return chars({{*point, *point}});
    return {.kind = NodeKind::byte, .min = static_cast<uint8_t>(pattern_[at_++])};
  }
  std::optional<uint32_t> code_point() {
    const size_t length = utf8_length(pattern_.substr(at_));
    if (length == 0) return std::nullopt;
    auto point = static_cast<uint32_t>(static_cast<uint8_t>(pattern_[at_]));
    if (length > 1) point &= 0x7FU >> length;
    for (size_t i = 1; i < length; ++i) {
      point = point << 6 | (static_cast<uint32_t>(pattern_[at_ + i]) & 0x3FU);
    }
    at_ += length;
    return point;
  }

  RegexNode escape(size_t begin) {
    if (take('b')) return {.kind = NodeKind::word_boundary};
    if (take('B')) return {.kind = NodeKind::not_word_boundary};
    if (take('A')) return {.kind = NodeKind::begin};
    if (take('z')) return {.kind = NodeKind::end};
    if (auto ranges = named_class(peek())) {
      ++at_;
      return {.kind = NodeKind::chars, .ranges = joined(std::move(*ranges))};
    }
    if (peek() == 'x') {
      const uint32_t code = hexadecimal(begin);
      // Two digits are a byte, which may be part of a character.
      if (pattern_[begin + 2] != '{' && code >= 0x80) return {.kind = NodeKind::byte, .min = code};
      return chars({{code, code}});
    }
    const uint32_t point = escaped_character(begin);
    return chars({{point, point}});
  }
  uint32_t escaped_character(size_t begin) {
    static constexpr std::string_view kNames = "nrtfv";
    static constexpr std::string_view kValues = "\n\r\t\f\v";
    const char c = peek();
    const bool is_sign = c > ' ' && c < 0x7f && !is_word_byte(static_cast<uint8_t>(c));
    const size_t name = c == '\0' ? kNames.npos : kNames.find(c);
    if (!is_sign && name == kNames.npos) fail(begin, "an escape that isn't supported");
    ++at_;
    return static_cast<uint8_t>(is_sign ? c : kValues[name]);
  }
  // Takes xNN or x{N...}.
  uint32_t hexadecimal(size_t begin) {
    ++at_;
    const bool braces = take('{');
    const size_t end = braces ? pattern_.find('}', at_) : at_ + 2;
    const std::string_view digits =
        end <= pattern_.size() ? pattern_.substr(at_, end - at_) : std::string_view();
    uint32_t code = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.empty() || read.ec != std::errc() || read.ptr != digits.data() + digits.size() ||
        code > kLastCodePoint || (code >= 0xD800 && code <= 0xDFFF)) {
      fail(begin, "expected \\xNN or \\x{NNNN}, a byte or a code point");
    }
    at_ = end + (braces ? 1 : 0);
    return code;
  }

  Ranges char_class(size_t begin) {
    const bool excludes = take('^');
    Ranges ranges;
    Ranges named_ranges;  // which have no case
    bool is_first = true;
    while (is_first || peek() != ']') {
      if (ended()) fail(begin, "missing ]");
      is_first = false;
      const size_t at = at_;
      if (take("[:")) fail(at, "classes such as [:alpha:] aren't supported; use a-z or \\w");
      if (peek() == '\\' && at_ + 1 < pattern_.size()) {
        if (auto named = named_class(pattern_[at_ + 1])) {
          at_ += 2;
          append_ranges(named_ranges, *named);
          continue;
        }
      }
      const uint32_t first = class_member();
      uint32_t last = first;
      if (peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
        ++at_;
        last = class_member();
        if (last < first) fail(at, "a range whose end is before its start");
      }
      ranges.push_back({first, last});
    }
    ++at_;
    if (flags_.ignores_case) ranges = with_all_cases(std::move(ranges));
    append_ranges(ranges, named_ranges);
    return excludes ? complement(ranges) : ranges;
  }
  uint32_t class_member() {
    const size_t begin = at_;
    if (!take('\\')) {
      const auto point = code_point();
      if (!point) fail(begin, "expected a character in UTF-8");
      return *point;
    }
    if (peek() != 'x') return escaped_character(begin);
    const uint32_t code = hexadecimal(begin);
    if (pattern_[begin + 2] != '{' && code >= 0x80) {
      fail(begin, "bytes from \\x80 on can't be in a class; \\x{NN} is a code point");
    }
    return code;
  }

  const std::string_view pattern_;
  size_t at_ = 0;
  int depth_ = 0;
  Flags flags_;
};

}  // namespace

RegexNode parse_regex(std::string_view pattern) { return RegexParser(pattern).parse(); }

}  // namespace recordpipe
