// Reports the result of scan_file(): intact records and damage.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "dataset/toolkit/files/scan_file.h"
#include "recordpipe/record/damaged_region.h"

namespace recordpipe {

// "[21, 67), 46 bytes: length CRC mismatch: corrupted record (hint)"
std::string describe(const DamagedRegion& region);
// "2 damaged regions of 50 bytes", "1 damaged region of 61 bytes, and 268,418 compressed bytes"
std::string describe(const DamageSkipped& lost);

// Reports files one by one. Regions are not stored, so their number is unlimited.
//
// Text:
//     a.tfrecords: intact, 3 records, 88 bytes
//     a.tfrecords.gz: intact, 3 records, 88 bytes, gzip
//     b.tfrecords: damaged
//       1 intact record
//       [21, 67), 46 bytes: length CRC mismatch: corrupted record (hint)
//       1 intact record
//       in all: 2 intact records, 1 damaged region of 46 bytes
// JSON, one object per line:
//     {"path": "b.tfrecords", "regions": [{"begin": 21, "end": 67, "reason": "...",
//      "records_before": 1}], "records": 2, "intact": false, "bytes": 88, "bytes_lost": 46,
//      "compression": "none"}
// with "error": "..." in place of the last three members if the file could not be read to its end,
// and "compressed_bytes_lost" behind "bytes_lost" if there are any.
class DamageReport {
 public:
  // `write` receives whole lines, or parts of long ones.
  DamageReport(bool json, std::function<void(std::string_view)> write)
      : json_(json), write_(std::move(write)) {}

  void begin(const std::string& path);
  void intact(uint64_t records) { since_damage_ += records; }
  void damaged(const DamagedRegion& region);
  void end(const ScanTotals& totals);
  // Called instead of end().
  void failed(std::string_view message);

 private:
  void end_object(uint64_t records, bool intact);

  const bool json_;
  const std::function<void(std::string_view)> write_;
  std::string path_;
  uint64_t records_ = 0;       // up to the last region
  uint64_t since_damage_ = 0;  // after the last region
  uint64_t regions_ = 0;
};

}  // namespace recordpipe
