// Describes a damaged region of a TFRecord file as a value, for programs that continue after
// damage.
#pragma once

#include <cstdint>
#include <string>

#include "recordpipe/base/error.h"

namespace recordpipe {

// Bytes [begin, end) of a file's (decompressed) content in which no intact record starts: the bytes
// between two intact records, before the first intact record, or after the last one, regardless of
// how many records they once contained. `reason` describes the defect at `begin`. The region is
// empty if the compressed data is damaged but no damage is visible in the decompressed content.
struct DamagedRegion {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string reason = {};       // a lower-case phrase, as in RecordReader's errors
  std::string hint = {};         // what to do; may be empty
  Remedy remedy = Remedy::none;  // the setting that the hint names, if any
  // Bytes of the compressed file that can't be decompressed. The records in them are lost, too, and
  // in no other count; `reason` names their number.
  uint64_t compressed_lost = 0;

  uint64_t size() const { return end - begin; }
  bool operator==(const DamagedRegion&) const = default;
};

// How much of the files was skipped.
struct DamageSkipped {
  uint64_t regions = 0;
  uint64_t bytes = 0;
  uint64_t compressed_bytes = 0;  // that can't be decompressed

  void add(const DamagedRegion& region) {
    merge({.regions = 1, .bytes = region.size(), .compressed_bytes = region.compressed_lost});
  }
  void merge(const DamageSkipped& other) {
    regions += other.regions;
    bytes += other.bytes;
    compressed_bytes += other.compressed_bytes;
  }
};

}  // namespace recordpipe
