// A random permutation of the numbers 0 to n-1 in O(1) memory.
//
// A Feistel network is a bijection of the numbers of so many bits, whatever its round function is
// (Luby and Rackoff, "How to construct pseudorandom permutations from pseudorandom functions",
// 1988, https://doi.org/10.1137/0217022). Where it leads out of [0, n) it is applied again until it
// comes back (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA
// 2002, https://doi.org/10.1007/3-540-45760-7_9): that takes less than two steps on average,
// because the bits are no more than n-1 needs.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "recordpipe/philox.h"

namespace recordpipe {

// Made for statistics, not for secrecy. All of it is a function of n and key.
class Permutation {
 public:
  // Of [0, n); n may be anything, 0 too. `key` from derive_key.
  constexpr Permutation(uint64_t n, uint64_t key) : n_(n) {
    // The bits of the largest number, n-1. Those of n would do, ceil(log2(n-1)) would not: it is
    // one too few at n = 2^k + 1.
    const int bits = n > 1 ? std::bit_width(n - 1) : 0;
    low_bits_ = (bits + 1) / 2;
    low_mask_ = (uint64_t{1} << low_bits_) - 1;
    high_mask_ = (uint64_t{1} << (bits - low_bits_)) - 1;
    rounds_ = bits <= kFewBits ? kManyRounds : kFewRounds;
    for (size_t round = 0; round < rounds_; ++round) keys_[round] = derive_key(key, round);
  }

  constexpr uint64_t size() const { return n_; }

  // The number at `place` < n.
  constexpr uint64_t operator()(uint64_t place) const {
    do {
      place = encipher(place);
    } while (place >= n_);
    return place;
  }

 private:
  // The halves may differ by a bit: each is changed by what the other is, in turns.
  constexpr uint64_t encipher(uint64_t number) const {
    uint64_t low = number & low_mask_;
    uint64_t high = number >> low_bits_;
    for (size_t round = 0; round < rounds_; round += 2) {
      high ^= mix(keys_[round] + low) & high_mask_;
      low ^= mix(keys_[round + 1] + high) & low_mask_;
    }
    return high << low_bits_ | low;
  }

  // The round function: 32 bits, as many as the largest half has. The constant is that of Pelle
  // Evensen's rrmxmx.
  static constexpr uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93;
    return x >> 32;
  }

  // All orders of a few numbers are as likely only after many rounds (with 12, those of 6 numbers
  // are not: the chi-square test sees it); so many orders of more numbers are none that a pipeline
  // could ever go through, and 12 rounds take 50 ns.
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
