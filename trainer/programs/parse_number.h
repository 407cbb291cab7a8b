// A number that is a text's whole content.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <system_error>

namespace recordpipe {

// The number that is the whole of `text`. Not CLI11's: that takes -1 for 2^64 - 1, 010 for 8, and
// NaN for a number in any range.
template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace recordpipe
