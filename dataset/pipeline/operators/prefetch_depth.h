// Decides how many elements prefetch keeps ready.
#pragma once

#include <algorithm>
#include <cstddef>

#include "recordpipe/options.h"

namespace recordpipe::internal {

// With kAutotune, the depth is 2 at first. It doubles, up to 64, each time the consumer finds the
// buffer empty after the buffer had been full, because then a larger buffer would have helped. It
// never shrinks, as in tf.data's PrefetchAutotuner.
class PrefetchDepth {
 public:
  explicit PrefetchDepth(size_t depth)
      : tunes_(depth == kAutotune), depth_(tunes_ ? kFirst : depth) {}

  size_t depth() const { return depth_; }
  size_t most() const { return tunes_ ? kMost : depth_; }

  // Called when the consumer has found `ready` elements in the buffer.
  void came(size_t ready) {
    if (!tunes_) return;
    if (ready >= depth_) {
      was_full_ = true;
    } else if (ready == 0 && was_full_) {
      depth_ = std::min(2 * depth_, kMost);
      was_full_ = false;
    }
  }

 private:
  static constexpr size_t kFirst = 2;
  static constexpr size_t kMost = 64;

  const bool tunes_;
  size_t depth_;
  bool was_full_ = false;
};

}  // namespace recordpipe::internal
