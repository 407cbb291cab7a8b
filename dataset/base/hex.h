// Bytes as lower-case hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

inline std::string hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += {kDigits[value >> 4], kDigits[value & 15]};
  }
  return text;
}

}  // namespace recordpipe
