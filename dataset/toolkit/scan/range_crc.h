// The CRC of any range of a content at a bounded cost, where ranges may overlap as they like.
//
// Behind damage a scanner tries each place that looks like a header. A file can be made of nothing
// but headers whose own CRCs fit and whose lengths reach far: computing the CRC of each of those
// ranges would take time in the square of the file's size. So the CRC of what was read is kept at
// checkpoints, and that of a range follows from those at two of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataset/toolkit/scan/scan_input.h"

namespace recordpipe {

class RangeCrc {
 public:
  // As many checkpoints as are kept; then every second is dropped: 4 MiB.
  static constexpr size_t kMostCheckpoints = size_t{1} << 20;

  explicit RangeCrc(ScanInput& input, size_t most_checkpoints = kMostCheckpoints)
      : input_(input), most_(most_checkpoints) {}

  // The CRC of [begin, end), all of it in the content. `begin` never is less than it was the time
  // before. In sum over all calls each byte is read once for the checkpoints, and in each call at
  // most two spacings of them besides: 2 KiB for contents of up to 1 GiB.
  uint32_t of(uint64_t begin, uint64_t end);

 private:
  static constexpr uint64_t kSpacing = 1024;

  uint64_t place(size_t checkpoint) const { return origin_ + checkpoint * spacing_; }
  void extend_to(uint64_t end);

  ScanInput& input_;
  const size_t most_;
  uint64_t origin_ = 0;
  uint64_t spacing_ = kSpacing;
  // Entry i is the CRC of [origin_, place(i)).
  std::vector<uint32_t> prefix_ = {0};
};

}  // namespace recordpipe
