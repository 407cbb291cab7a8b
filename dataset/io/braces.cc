#include "dataset/io/braces.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

#include "dataset/base/parse_number.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// Linux's limit for one argument of a command.
constexpr size_t kLongestText = size_t{128} << 10;
// Each opening brace is compared with the text after it.
constexpr std::ptrdiff_t kMaxBraces = 1000;
constexpr size_t kMaxNested = 64;
constexpr double kMaxExpandedBytes = 256 << 20;

constexpr size_t npos = std::string_view::npos;

Error limit_exceeded(std::string reason) {
  return Error({.kind = ErrorKind::limit_exceeded, .reason = std::move(reason)});
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// Returns the first `{` from `begin` on. bash ignores {} at the start of a word.
size_t find_open(std::string_view text, size_t begin, size_t word_begin) {
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      const bool starts = i == word_begin || is_blank(text[i - 1]);
      const bool ends = i + 1 == text.size() || is_blank(text[i + 1]) || text[i + 1] == '}';
      if (!(starts && ends)) return i;
    }
  }
  return npos;
}

// Returns the `}` that ends the braces whose content starts at `begin`. bash skips a `}` before the
// first comma or "..": {a},b} stands for "a}" and "b".
size_t find_close(std::string_view text, size_t begin) {
  size_t level = 0;
  bool separated = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (c == '}' && level == 0 && separated) {
      return i;
    } else if (c == '{') {
      ++level;
    } else if (c == '}') {
      level -= level > 0 ? 1 : 0;
    } else if (level == 0) {
      const bool is_range =
          text.substr(i).starts_with("..") && !text.substr(i + 2).starts_with('}');
      separated = separated || c == ',' || is_range;
    }
  }
  return npos;
}

bool has_comma(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') return true;
    if (text[i] == '\\') ++i;
  }
  return false;
}

// Splits at the commas outside of inner braces.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  size_t level = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (c == '{') {
      ++level;
    } else if (c == '}') {
      level -= level > 0 ? 1 : 0;
    } else if (c == ',' && level == 0) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<int64_t> parse_bound(std::string_view text) {
  const bool has_plus = text.starts_with('+') && !text.starts_with("+-");
  return parse_number<int64_t>(text.substr(has_plus ? 1 : 0));
}

// Whether a number is written with zeros on the left: 007, -07.
bool is_padded(std::string_view number) {
  return (number.size() > 1 && number.starts_with('0')) ||
         (number.size() > 2 && number.starts_with("-0"));
}

bool is_letter(std::string_view text) {
  return text.size() == 1 &&
         ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
}

uint64_t distance(int64_t a, int64_t b) {
  const auto low = static_cast<uint64_t>(std::min(a, b));
  return static_cast<uint64_t>(std::max(a, b)) - low;
}

std::string padded(int64_t number, size_t width) {
  std::string text = std::to_string(number);
  if (text.size() < width) text.insert(number < 0 ? 1 : 0, width - text.size(), '0');
  return text;
}

}  // namespace

BracePattern::BracePattern(std::string_view text) {
  const auto braces = std::count(text.begin(), text.end(), '{');
  if (braces > 0 && text.size() > kLongestText) {
    throw limit_exceeded("a name with braces has at most 131,072 bytes");
  }
  if (braces > kMaxBraces) throw limit_exceeded("a name has at most 1,000 opening braces");
  sequence_ = parse(text, 0);
}

bool BracePattern::expands() const {
  return std::ranges::any_of(sequence_, [](const Part& part) {
    return !std::holds_alternative<std::string>(part.content);
  });
}

std::vector<std::string> BracePattern::words(size_t most) const {
  const Extent extent = extent_of(sequence_);
  if (extent.words > static_cast<double>(most)) {
    throw limit_exceeded("the braces stand for more than " + std::to_string(most) + " names");
  }
  if (extent.bytes > kMaxExpandedBytes) {
    throw limit_exceeded("the braces stand for names of more than 256 MiB together");
  }
  std::vector<std::string> words = expand(sequence_);
  std::erase(words, "");
  return words;
}

BracePattern::Sequence BracePattern::parse(std::string_view text, size_t depth) {
  if (depth > kMaxNested) throw limit_exceeded("braces are nested more than 64 times");
  Sequence sequence;
  size_t begin = 0;  // of the text that is in no part yet
  size_t next = 0;
  while (true) {
    const size_t open = find_open(text, next, begin);
    if (open == npos) break;
    const size_t close = find_close(text, open + 1);
    next = open + 1;
    if (close == npos) continue;
    const std::string_view content = text.substr(open + 1, close - open - 1);
    Part part;
    if (Range range; has_comma(content)) {
      Choice choice;
      for (const std::string_view word : split(content)) choice.push_back(parse(word, depth + 1));
      part.content = std::move(choice);
    } else if (parse_range(content, range)) {
      part.content = range;
    } else {
      part.content = std::string(text.substr(open, close + 1 - open));
    }
    sequence.push_back({std::string(text.substr(begin, open - begin))});
    sequence.push_back(std::move(part));
    begin = next = close + 1;
  }
  sequence.push_back({std::string(text.substr(begin))});
  return sequence;
}

bool BracePattern::parse_range(std::string_view text, Range& range) {
  const size_t dots = text.find("..");
  if (dots == npos) return false;
  const std::string_view first = text.substr(0, dots);
  const std::string_view rest = text.substr(dots + 2);
  const size_t more = rest.find("..");
  const std::string_view last = rest.substr(0, more);
  if (more != npos) {
    const auto step = parse_bound(rest.substr(more + 2));
    if (!step) return false;
    range.step = std::max<uint64_t>(distance(*step, 0), 1);
  }
  if (is_letter(first) && is_letter(last) && (first < "a") == (last < "a")) {
    range.is_letters = true;
    range.first = first[0];
    range.last = last[0];
    return true;
  }
  const auto from = parse_bound(first);
  const auto to = parse_bound(last);
  if (!from || !to) return false;
  range.first = *from;
  range.last = *to;
  if (is_padded(first) || is_padded(last)) range.width = std::max(first.size(), last.size());
  return true;
}

BracePattern::Extent BracePattern::extent_of(const Part& part) {
  if (const auto* const text = std::get_if<std::string>(&part.content)) {
    return {1, static_cast<double>(text->size())};
  }
  if (const auto* const range = std::get_if<Range>(&part.content)) {
    const double words = 1 + static_cast<double>(distance(range->first, range->last) / range->step);
    constexpr size_t kLongestNumber = 20;
    return {words, words * static_cast<double>(std::max(range->width, kLongestNumber))};
  }
  Extent sum;
  for (const Sequence& sequence : std::get<Choice>(part.content)) {
    const Extent extent = extent_of(sequence);
    sum.words += extent.words;
    sum.bytes += extent.bytes;
  }
  return sum;
}

BracePattern::Extent BracePattern::extent_of(const Sequence& sequence) {
  Extent product{1, 0};
  for (const Part& part : sequence) {
    const Extent extent = extent_of(part);
    product.bytes = product.bytes * extent.words + product.words * extent.bytes;
    product.words *= extent.words;
  }
  // Each word is also an object.
  product.bytes += product.words * sizeof(std::string);
  return product;
}

std::vector<std::string> BracePattern::expand(const Range& range) {
  std::vector<std::string> words;
  const uint64_t steps = distance(range.first, range.last) / range.step;
  for (uint64_t i = 0; i <= steps; ++i) {
    const auto offset = static_cast<int64_t>(i * range.step);
    const int64_t value = range.first <= range.last ? range.first + offset : range.first - offset;
    words.push_back(range.is_letters ? std::string(1, static_cast<char>(value))
                                     : padded(value, range.width));
  }
  return words;
}

std::vector<std::string> BracePattern::expand(const Part& part) {
  if (const auto* const text = std::get_if<std::string>(&part.content)) return {*text};
  if (const auto* const range = std::get_if<Range>(&part.content)) return expand(*range);
  std::vector<std::string> words;
  for (const Sequence& sequence : std::get<Choice>(part.content)) {
    std::ranges::move(expand(sequence), std::back_inserter(words));
  }
  return words;
}

std::vector<std::string> BracePattern::expand(const Sequence& sequence) {
  std::vector<std::string> words{""};
  for (const Part& part : sequence) {
    const std::vector<std::string> ends = expand(part);
    if (ends.size() == 1) {
      for (std::string& word : words) word += ends.front();
      continue;
    }
    std::vector<std::string> longer;
    longer.reserve(words.size() * ends.size());
    for (const std::string& word : words) {
      for (const std::string& end : ends) longer.push_back(word + end);
    }
    words = std::move(longer);
  }
  return words;
}

}  // namespace recordpipe
