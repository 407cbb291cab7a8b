// Scans any file for intact records and damage: on all cores if it can be mapped, as a stream if it
// is compressed, remote or a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/compression.h"
#include "recordpipe/record_reader.h"
#include "recordpipe/toolkit/damaged_region.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

struct ScanSinks {
  // Called first. May be empty.
  std::function<void(Compression)> opened = {};
  // Receives `count` consecutive intact records with framing, as in the file's content. `framed` is
  // valid only during the call.
  std::function<void(std::span<const std::byte> framed, uint64_t count)> intact = {};
  std::function<void(const DamagedRegion&)> damaged = {};
};

struct ScanTotals {
  Compression compression = Compression::none;
  uint64_t bytes = 0;    // of the content
  uint64_t records = 0;  // intact records
  uint64_t regions = 0;
  uint64_t lost = 0;  // bytes in damaged regions
  // The file was truncated while it was read: the sinks may have received bytes other than those
  // that were checked.
  bool cut = false;

  bool intact() const { return regions == 0; }
};

// Calls the sinks in the order of the file, on the calling thread. On return, the terminal shows no
// progress bar.
ScanTotals scan_file(const CommandContext& context, const std::string& path,
                     const RecordReadOptions& reading, size_t threads, const ScanSinks& sinks,
                     InputProgress& progress);

// "[21, 67), 46 bytes: length CRC mismatch: corrupted record (hint)"
std::string describe(const DamagedRegion& region);
// "2 damaged regions of 50 bytes"
std::string describe_damage(uint64_t regions, uint64_t bytes);

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
// with "error": "..." in place of the last three members if the file could not be read to its end.
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
