// Loads and stores little-endian integers in byte buffers, on any machine.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace recordpipe {

template <typename T>
T load_little_endian(const std::byte* from) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(from[i]) << (8 * i));
  }
  return value;
}

template <typename T>
void store_little_endian(T value, std::byte* to) {
  static_assert(std::is_unsigned_v<T>);
  for (size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace recordpipe
