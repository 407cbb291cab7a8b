// The reason why no intact record starts at an offset of the content, in the words of the readers'
// errors.
#pragma once

#include <cstdint>
#include <string>

#include "dataset/toolkit/scan/scan_input.h"
#include "recordpipe/error.h"
#include "recordpipe/toolkit/damaged_region.h"

namespace recordpipe {

// Examines the offset at construction; the end of the damage is passed later.
class DamageReason {
 public:
  // If the length's CRC is valid and the record is complete, `size` is the record's size and `crc`
  // the computed CRC of its data, which differs from the stored one; otherwise 0.
  DamageReason(ScanInput& input, uint64_t begin, uint64_t size, uint32_t crc,
               uint64_t max_record_size);

  // A record can't start with a header of zeros.
  bool begins_with_zeros() const { return what_ == What::zeros; }

  // An intact record starts at `end`.
  DamagedRegion region_before_record(uint64_t end) &&;
  // The content ends at `end`; `zeros`: the rest of the content is zeros.
  DamagedRegion region_to_end(uint64_t end, bool zeros) &&;
  // No record was found within the search distance.
  DamagedRegion region_given_up(uint64_t end) &&;

 private:
  enum class What { zeros, length_crc, past_end, other };

  void set(const Error& error);
  // Whether the compression is damaged up to `end`, which then is the reason.
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
