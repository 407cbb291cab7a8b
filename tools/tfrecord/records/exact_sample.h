// A given number of records, drawn at random.
#pragma once

#include <cstdint>

#include "recordpipe/philox.h"

namespace recordpipe {

// Of `total` numbers, asked one after another, exactly `wanted`, each set of them as likely (Knuth,
// The Art of Computer Programming, 3.4.2, algorithm S).
class ExactSample {
 public:
  ExactSample(uint64_t seed, uint64_t wanted, uint64_t total)
      : random_(derive_key(seed, kSampleCountStream), 0, 0), wanted_(wanted), left_(total) {}

  bool take_next() {
    if (left_ == 0) return false;
    const bool takes = random_.below64(left_--) < wanted_;
    if (takes) --wanted_;
    return takes;
  }

 private:
  static constexpr uint64_t kSampleCountStream =
      0x5341'4d50'4c45'0002;  // one use of a seed among others

  Random random_;
  uint64_t wanted_;
  uint64_t left_;
};

}  // namespace recordpipe
