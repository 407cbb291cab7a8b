// Why no intact record starts at a place of a content, in the words of the readers' errors.
#pragma once

#include <cstdint>
#include <string>

#include "dataset/toolkit/scan/scan_input.h"
#include "recordpipe/error.h"
#include "recordpipe/toolkit/damaged_region.h"

namespace recordpipe {

// Looks at the place when it is made, and is told later how far the damage goes.
class DamageReason {
 public:
  // Where the length's CRC fits and the record is all there, `size` is the record's and `crc` its
  // data's, which isn't the stored one; else 0.
  DamageReason(ScanInput& input, uint64_t begin, uint64_t size, uint32_t crc,
               uint64_t max_record_size);

  // A record can't start where its header would be zeros.
  bool begins_with_zeros() const { return what_ == What::zeros; }

  // An intact record starts at `end`.
  DamagedRegion region_before_record(uint64_t end) &&;
  // The content ends at `end`; `zeros` where nothing but zeros was left.
  DamagedRegion region_to_end(uint64_t end, bool zeros) &&;
  // No record was found as far as one was looked for.
  DamagedRegion region_given_up(uint64_t end) &&;

 private:
  enum class What { zeros, length_crc, past_end, other };

  void set(const Error& error);
  // Whether compression is damaged up to `end`, which is the reason then.
  bool is_a_gap(uint64_t end);

  ScanInput& input_;
  const uint64_t begin_;
  What what_ = What::other;
  std::string reason_;
  std::string hint_;
  Remedy remedy_ = Remedy::none;
};

// The reason of a gap.
std::string reason_of_gap(const Error& error);

}  // namespace recordpipe
