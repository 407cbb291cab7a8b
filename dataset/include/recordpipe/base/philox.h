// Generates counter-based random numbers with Philox4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011, https://doi.org/10.1145/2063384.2063405).
//
// A block of four 32-bit numbers is a pure function of a 64-bit key and a 128-bit counter. The
// numbers drawn for an element therefore depend neither on the thread nor on earlier draws.
#pragma once

#include <array>
#include <cstdint>

namespace recordpipe {

// The ten-round bijection. Equal to Random123's philox4x32; tested with Random123's published
// vectors.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Derives the key for one use of a seed: different `stream` numbers give unrelated random streams
// of the same seed (splitmix64's finaliser over both words).
constexpr uint64_t derive_key(uint64_t seed, uint64_t stream) {
  const auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  };
  return mix(mix(seed + 0x9E3779B97F4A7C15) + stream * 0x9E3779B97F4A7C15);
}

// The random numbers of one element (at most 2^34), determined by the key (seed and use), the
// epoch, and the index of the element in its source. Satisfies UniformRandomBitGenerator, but
// prefer the members below to the standard distributions, whose results differ between standard
// libraries.
class Random {
 public:
  using result_type = uint32_t;

  // `key` comes from derive_key. All 64 bits of `epoch` and `index` are used.
  constexpr Random(uint64_t key, uint64_t epoch, uint64_t index)
      : key_{static_cast<uint32_t>(key), static_cast<uint32_t>((key >> 32) ^ (epoch >> 32))},
        counter_{0, static_cast<uint32_t>(epoch), static_cast<uint32_t>(index),
                 static_cast<uint32_t>(index >> 32)} {}

  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return 0xFFFFFFFF; }

  constexpr uint32_t operator()() {
    if (used_ == 4) {
      block_ = philox4x32(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }

  constexpr uint64_t next64() {
    const uint64_t high = (*this)();
    return high << 32 | (*this)();
  }

  // Returns an unbiased number in [0, n), n > 0 (Lemire 2019, https://arxiv.org/abs/1805.10941).
  constexpr uint32_t below(uint32_t n) {
    uint64_t product = uint64_t{(*this)()} * n;
    if (static_cast<uint32_t>(product) < n) {
      const uint32_t threshold = -n % n;
      while (static_cast<uint32_t>(product) < threshold) product = uint64_t{(*this)()} * n;
    }
    return static_cast<uint32_t>(product >> 32);
  }

  // The same for 64-bit n > 0.
  constexpr uint64_t below64(uint64_t n) {
    const uint64_t beyond_whole_rounds = -n % n;  // 2^64 mod n
    uint64_t drawn = next64();
    while (drawn < beyond_whole_rounds) drawn = next64();
    return drawn % n;
  }

  // Returns a number that alternates: in epochs 0, 2, ... the element's first one, drawn at random,
  // in epochs 1, 3, ... the other one. Not one of the numbers that the other members draw.
  constexpr bool alternating() const {
    const auto block = philox4x32({0xFFFFFFFF, 0, counter_[2], counter_[3]}, key_);
    return ((block[0] ^ counter_[1]) & 1) == 1;
  }

  // Returns a float in [0, 1), a multiple of 2^-24.
  constexpr float uniform() { return static_cast<float>((*this)() >> 8) * 0x1p-24f; }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  unsigned used_ = 4;
};

}  // namespace recordpipe
