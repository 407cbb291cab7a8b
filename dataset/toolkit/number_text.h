// Parses numbers from a complete text; trailing characters are an error.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "dataset/base/parse_number.h"

namespace recordpipe {

// Parses a decimal integer without leading zeros or a plus sign, so that formatting the value gives
// the same text.
inline std::optional<int64_t> parse_int64(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.starts_with('0') && text != "0") return std::nullopt;
  return parse_number<int64_t>(text);
}

// Parses a whole number from 0 to 2^64 - 1, as parse_int64() does, and returns the int64 of the
// same bits.
inline std::optional<int64_t> parse_uint64_bits(std::string_view text) {
  if (text.starts_with('0') && text != "0") return std::nullopt;
  const auto value = parse_number<uint64_t>(text);
  return value ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

// Returns whether float32 can't represent `value` exactly.
inline bool is_rounded_by_float(int64_t value) {
  const uint64_t size = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return std::bit_width(size) - (size == 0 ? 0 : std::countr_zero(size)) >
         std::numeric_limits<float>::digits;
}

// Parses NaN and the infinities as C, Python, NumPy, pandas and R write them: "nan", "inf" or
// "infinity", in upper or lower case, with or without a sign.
inline std::optional<float> parse_nonfinite(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const auto is = [text](std::string_view word) {
    return std::ranges::equal(text, word,
                              [](char a, char b) { return a == b || (a ^ ('a' ^ 'A')) == b; });
  };
  if (is("nan")) return std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (is("inf") || is("infinity")) return is_negative ? -kInfinity : kInfinity;
  return std::nullopt;
}

// Returns whether `text` is NaN, an infinity (parse_nonfinite()), or a decimal number of any size.
inline bool is_number(std::string_view text) {
  if (parse_nonfinite(text)) return true;
  if (text.empty() || text.find_first_not_of("+-.0123456789eE") != text.npos) return false;
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error != std::errc::invalid_argument && last == end;
}

// Returns the nearest float, or NaN or an infinity like parse_nonfinite(). Returns std::nullopt for
// what is no number, and for a number that is out of the range of float (nearest_float.h).
inline std::optional<float> parse_float(std::string_view text) {
  if (const auto nonfinite = parse_nonfinite(text)) return nonfinite;
  if (!is_number(text)) return std::nullopt;
  float value = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  const std::string_view digits = text.substr(0, text.find_first_of("eE"));
  const bool is_zero = digits.find_first_of("123456789") == digits.npos;
  if (is_zero) return value;
  if (error != std::errc() || value == 0 || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Returns 1 for "true" and 0 for "false", also written True and TRUE, False and FALSE.
inline std::optional<int64_t> parse_boolean(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return 1;
  if (text == "false" || text == "False" || text == "FALSE") return 0;
  return std::nullopt;
}

}  // namespace recordpipe
