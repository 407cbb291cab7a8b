// Counts as people read them, for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace recordpipe {

// 1234567 → "1,234,567"
inline std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

// "1 record", "1,234 records"
inline std::string counted(uint64_t number, std::string_view what) {
  return (grouped(number) + ' ').append(what).append(number == 1 ? "" : "s");
}

}  // namespace recordpipe
