// Strict parsing of numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <system_error>

namespace recordpipe {

// Parses the whole of `text` as a number. CLI11's own parser accepts -1 as 2^64 - 1, 010 as 8, and
// NaN for any range.
template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace recordpipe
