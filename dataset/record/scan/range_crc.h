// Computes the CRC of any range of a content at a bounded cost, even if ranges overlap.
//
// After damage, a scanner tests every offset that may be a header. A malicious file can consist of
// headers with valid CRCs and large lengths: computing the CRC of each range would take quadratic
// time. So RangeCrc keeps CRCs at checkpoints, and computes a range's CRC from the CRCs at
// two checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataset/record/scan/scan_input.h"

namespace recordpipe {

class RangeCrc {
 public:
  // Maximum number of checkpoints (4 MiB). When it is reached, every second checkpoint is dropped.
  static constexpr size_t kMaxCheckpoints = size_t{1} << 20;

  explicit RangeCrc(ScanInput& input, size_t max_checkpoints = kMaxCheckpoints)
      : input_(input), max_(max_checkpoints) {}

  // Returns the CRC of [begin, end), which must be inside the content. `begin` must not decrease
  // from call to call. Over all calls, each byte is read once for the checkpoints. Each call also
  // reads at most twice the distance between checkpoints: 2 KiB for contents of up to 1 GiB.
  uint32_t of(uint64_t begin, uint64_t end);

 private:
  static constexpr uint64_t kSpacing = 1024;

  uint64_t place(size_t checkpoint) const { return origin_ + checkpoint * spacing_; }
  void extend_to(uint64_t end);

  ScanInput& input_;
  const size_t max_;
  uint64_t origin_ = 0;
  uint64_t spacing_ = kSpacing;
  // Entry i is the CRC of [origin_, place(i)).
  std::vector<uint32_t> prefix_ = {0};
};

}  // namespace recordpipe
