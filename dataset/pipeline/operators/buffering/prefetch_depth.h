// Decides how many elements prefetch keeps ready.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "recordpipe/pipeline/options.h"

namespace recordpipe::internal {

// With kAutotune, the depth is 2 at first, and doubles, up to 64, where a larger buffer would save
// time: the prefetching thread could have computed while it waited for room what the consumer
// waited for later. So the shorter of the two waiting times is what could be saved; it must be 1 %
// of the time since the depth last changed. If the consumer waits much longer than the thread, the
// thread is the slower side, and what fills the buffer now and then is the scheduler, which lets
// the consumer wait for a processor: a deeper buffer would only move elements out of the
// processor's caches. The depth never shrinks, as in tf.data's PrefetchAutotuner.
class PrefetchDepth {
 public:
  using Clock = std::chrono::steady_clock;

  explicit PrefetchDepth(size_t depth)
      : tunes_(depth == kAutotune), depth_(tunes_ ? kFirst : depth) {}

  size_t depth() const { return depth_; }
  size_t max() const { return tunes_ ? kMax : depth_; }

  // The thread begins at `now`.
  void start(Clock::time_point now) {
    begin_ = now;
    room_ = elements_ = {};
    was_full_ = false;
    times_ = 0;
  }
  // The thread has waited for room.
  void waited_for_room(Clock::duration time) {
    room_ += time;
    was_full_ = true;
  }
  // The consumer has waited for an element until `now`.
  void waited_for_element(Clock::duration time, Clock::time_point now) {
    elements_ += time;
    if (!tunes_ || !std::exchange(was_full_, false) || ++times_ < kTimes) return;
    if (elements_ > kSlower * room_) return;
    if (kShare * std::min(room_, elements_) < now - begin_) return;
    depth_ = std::min(2 * depth_, kMax);
    start(now);
  }

 private:
  static constexpr size_t kFirst = 2;
  static constexpr size_t kMax = 64;
  static constexpr int kTimes = 8;  // that the buffer must have been full and then empty
  static constexpr int kSlower = 2;
  static constexpr int kShare = 100;

  const bool tunes_;
  size_t depth_;
  Clock::time_point begin_;
  Clock::duration room_{0};
  Clock::duration elements_{0};
  bool was_full_ = false;
  int times_ = 0;
};

}  // namespace recordpipe::internal
