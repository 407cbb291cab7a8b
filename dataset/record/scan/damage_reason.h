// Determines why no intact record starts at an offset of the content, and describes the reason in
// the words of the readers' errors.
#pragma once

#include <cstdint>
#include <string>

#include "dataset/record/record_framing.h"
#include "dataset/record/scan/scan_input.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/damaged_region.h"

namespace recordpipe {

// The constructor examines the offset. The end of the damaged region is passed later.
class DamageReason {
 public:
  // If the length's CRC is valid and the record is complete, `size` is the record's size and `crc`
  // the computed CRC of its data, which differs from the stored CRC. Otherwise both are 0.
  DamageReason(ScanInput& input, uint64_t begin, uint64_t size, uint32_t crc,
               const FramingRules& rules);

  // Whether the header consists of zeros. No record starts with such a header.
  bool begins_with_zeros() const { return what_ == What::zeros; }

  // Returns the region if an intact record starts at `end`.
  DamagedRegion region_before_record(uint64_t end) &&;
  // Returns the region if the content ends at `end`. `zeros`: the region consists of zeros.
  DamagedRegion region_to_end(uint64_t end, bool zeros) &&;
  // Returns the region if the rest of the content, up to `end`, was not searched.
  DamagedRegion region_of_rest(uint64_t end) &&;
  // Returns the region if no record was found within the search distance.
  DamagedRegion region_given_up(uint64_t end) &&;

 private:
  enum class What { zeros, length_crc, past_end, other };

  void set(const Error& error);
  // Returns whether the compression is damaged up to `end`; if it is, makes this the reason.
  bool is_a_gap(uint64_t end);

  ScanInput& input_;
  const uint64_t begin_;
  What what_ = What::other;
  std::string reason_;
  std::string hint_;
  Remedy remedy_ = Remedy::none;
  uint64_t compressed_lost_ = 0;
};

// Returns the reason for a gap, as text, with what it has lost.
std::string reason_of_gap(const ContentGap& gap);

}  // namespace recordpipe
