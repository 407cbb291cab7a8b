// Generates a random permutation of the numbers 0 to n-1 in O(1) memory.
//
// A Feistel network is a bijection on b-bit numbers for any round function (Luby and Rackoff, "How
// to construct pseudorandom permutations from pseudorandom functions", 1988,
// https://doi.org/10.1137/0217022). A result outside [0, n) is enciphered again until it is inside
// (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002,
// https://doi.org/10.1007/3-540-45760-7_9). This takes less than two steps on average, because b is
// the bit width of n-1.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "recordpipe/base/philox.h"

namespace recordpipe {

// For statistics, not for cryptography. The permutation depends only on n and the key.
class Permutation {
 public:
  // A permutation of [0, n) for any n, including 0. `key` comes from derive_key.
  constexpr Permutation(uint64_t n, uint64_t key) : n_(n) {
    // The bit width of the largest number, n-1. (ceil(log2(n-1)) is one too few at n = 2^k + 1.)
    const int bits = n > 1 ? static_cast<int>(std::bit_width(n - 1)) : 0;
    low_bits_ = (bits + 1) / 2;
    low_mask_ = (uint64_t{1} << low_bits_) - 1;
    high_mask_ = (uint64_t{1} << (bits - low_bits_)) - 1;
    rounds_ = bits <= kFewBits ? kManyRounds : kFewRounds;
    for (size_t round = 0; round < rounds_; ++round) keys_[round] = derive_key(key, round);
  }

  constexpr uint64_t size() const { return n_; }

  // Returns the number at position `place` < n.
  constexpr uint64_t operator()(uint64_t place) const {
    do {
      place = encipher(place);
    } while (place >= n_);
    return place;
  }

 private:
  // Enciphers a number of two halves, whose widths may differ by one bit. Each round changes one
  // half by a function of the other half.
  constexpr uint64_t encipher(uint64_t number) const {
    uint64_t low = number & low_mask_;
    uint64_t high = number >> low_bits_;
    for (size_t round = 0; round < rounds_; round += 2) {
      high ^= mix(keys_[round] + low) & high_mask_;
      low ^= mix(keys_[round + 1] + high) & low_mask_;
    }
    return high << low_bits_ | low;
  }

  // The round function. Returns 32 bits, the width of the largest half. The constant is from Pelle
  // Evensen's rrmxmx.
  static constexpr uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93;
    return x >> 32;
  }

  // For a few numbers, all orders are equally likely only after many rounds (with 12 rounds, the
  // orders of 6 numbers fail a chi-square test). More numbers have more orders than any pipeline
  // can enumerate; 12 rounds are then enough and take 50 ns.
  static constexpr int kFewBits = 12;
  static constexpr size_t kManyRounds = 32;
  static constexpr size_t kFewRounds = 12;

  uint64_t n_;
  int low_bits_ = 0;
  uint64_t low_mask_ = 0;
  uint64_t high_mask_ = 0;
  size_t rounds_ = 0;
  std::array<uint64_t, kManyRounds> keys_{};
};

}  // namespace recordpipe
