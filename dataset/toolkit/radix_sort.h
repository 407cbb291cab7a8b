// Sorts numbers with a radix sort, from the least significant byte of the keys to the most
// significant. On random numbers, this is several times as fast as a comparison sort.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace recordpipe {

// Sorts fewer than 2^32 numbers of type float or int64_t, without NaN.
template <typename Number>
void radix_sort(std::vector<Number>& numbers) {
  constexpr size_t kFew = 256;
  if (numbers.size() < kFew) {
    std::ranges::sort(numbers);
    return;
  }
  using Key = std::conditional_t<sizeof(Number) == 4, uint32_t, uint64_t>;
  constexpr bool kIsFloat = std::is_floating_point_v<Number>;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  // Keys have the same order as the numbers. Each pass sorts by the 8 bits from `shift` on.
  std::vector<Key> keys;
  keys.reserve(numbers.size());
  std::array<std::array<uint32_t, 256>, sizeof(Key)> counts = {};
  for (const Number number : numbers) {
    const auto bits = std::bit_cast<Key>(number);
    const Key key = kIsFloat && (bits & kSign) != 0 ? ~bits : bits ^ kSign;
    keys.push_back(key);
    for (size_t i = 0; i < sizeof(Key); ++i) ++counts[i][key >> 8 * i & 0xff];
  }
  std::vector<Key> sorted(keys.size());
  for (size_t i = 0; i < sizeof(Key); ++i) {
    const size_t shift = 8 * i;
    if (counts[i][keys.front() >> shift & 0xff] == keys.size()) continue;  // same byte in all keys
    uint32_t before = 0;
    for (uint32_t& count : counts[i]) {
      const uint32_t place = before;
      before += count;
      count = place;
    }
    for (const Key key : keys) sorted[counts[i][key >> shift & 0xff]++] = key;
    keys.swap(sorted);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const Key key = keys[i];
    numbers[i] = std::bit_cast<Number>(kIsFloat && (key & kSign) == 0 ? ~key : key ^ kSign);
  }
}

}  // namespace recordpipe
