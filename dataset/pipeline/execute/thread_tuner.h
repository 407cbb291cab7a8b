// Decides how many threads an executor uses as helpers.
#pragma once

#include <algorithm>
#include <cstddef>

namespace recordpipe::internal {

// Looks for the minimum that keeps the consumer from waiting: one helper more if the consumer
// waited for more than one in eight of the last chunks; one fewer if it has not waited for a long
// time. If removing a helper causes waiting, the next removal comes later. The elements and their
// order are already fixed, so the number of helpers affects timing only.
class ThreadTuner {
 public:
  // At most `most` helpers; always `most` if `tune` is false.
  ThreadTuner(size_t most, bool tune) : max_(most), helpers_(most), tune_(tune && most > 0) {}

  size_t helpers() const { return helpers_; }

  // Called when the consumer requests a chunk.
  void came(bool had_to_wait) {
    if (!tune_) return;
    waits_ += had_to_wait ? 1 : 0;
    ++chunks_;
    if (chunks_ % kWindow == 0 && waits_ > kWindow / 8) {
      if (helpers_ < max_) ++helpers_;
      if (was_lowered_) patience_ = std::min(2 * patience_, kMaxPatience);
      start_over();
    } else if (chunks_ % kWindow == 0 && waits_ > 0) {
      start_over();
    } else if (chunks_ >= patience_) {
      was_lowered_ = helpers_ > 0;
      if (helpers_ > 0) --helpers_;
      chunks_ = waits_ = 0;
    }
  }

 private:
  void start_over() {
    chunks_ = waits_ = 0;
    was_lowered_ = false;
  }

  static constexpr size_t kWindow = 16;         // chunks
  static constexpr size_t kMaxPatience = 4096;  // chunks

  const size_t max_;
  size_t helpers_;
  const bool tune_;
  size_t patience_ = 4 * kWindow;  // chunks without a wait before one helper is removed
  size_t chunks_ = 0;
  size_t waits_ = 0;
  bool was_lowered_ = false;  // by the last decision to change helpers_
};

}  // namespace recordpipe::internal
