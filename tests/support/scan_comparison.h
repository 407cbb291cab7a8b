// All ways to scan a content for intact records, beside one that is too plain to be wrong.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/toolkit/damaged_region.h"

namespace recordpipe {

struct Scan {
  std::vector<std::pair<uint64_t, uint64_t>> records = {};  // [begin, end)
  std::vector<std::pair<uint64_t, uint64_t>> regions = {};

  bool operator==(const Scan&) const = default;
};

struct ScanWithReasons {
  Scan scan = {};
  std::vector<DamagedRegion> damage = {};
};

// By trying every record at every place.
Scan scan_naively(const std::string& content);

// By RecordScanner, of a mapped file and of a stream.
ScanWithReasons scan_mapped(const std::string& content);
ScanWithReasons scan_stream(const std::string& content);
ScanWithReasons scan_in_parallel(const std::string& content, size_t threads, uint64_t chunk_size);

// What is different between these; empty where nothing is. Chunks are small, so that there are
// many.
std::string compare_scans(const std::string& content);

}  // namespace recordpipe
