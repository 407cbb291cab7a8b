// Scans content for intact records in all ways and in a naive one, and compares the results.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/record/damaged_region.h"

namespace recordpipe {

struct Scan {
  std::vector<std::pair<uint64_t, uint64_t>> records = {};  // [begin, end)
  std::vector<std::pair<uint64_t, uint64_t>> regions = {};

  bool operator==(const Scan&) const = default;
};

struct ScanWithReasons {
  Scan scan = {};
  std::vector<DamagedRegion> damage = {};

  bool operator==(const ScanWithReasons&) const = default;
};

// Looks for an intact record at every position.
Scan scan_naively(const std::string& content);

// Scan with RecordScanner and ParallelRecordScanner; `content` is the content of the file when it
// was opened.
ScanWithReasons scan_serially(const RandomAccessFile& file);
ScanWithReasons scan_in_parallel(const RandomAccessFile& file, const std::string& content,
                                 size_t threads, uint64_t chunk_size);

// Scan `content` as a mapped file, as a stream, and as a mapped file in parallel.
ScanWithReasons scan_mapped(const std::string& content);
ScanWithReasons scan_stream(const std::string& content);
ScanWithReasons scan_in_parallel(const std::string& content, size_t threads, uint64_t chunk_size);

// Returns the differences between all scans, including scans of a file that is not stable(); empty
// if there are none. Chunks are small, so that there are many.
std::string compare_scans(const std::string& content);

}  // namespace recordpipe
