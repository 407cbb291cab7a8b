// One thread's part of a parallel scan: facts about a part of the file that hold wherever the scan
// comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/toolkit/damaged_region.h"
#include "recordpipe/toolkit/parallel_record_scanner.h"

namespace recordpipe {

// The results of a walk from `begin` up to `end`.
struct ChunkFacts {
  // Empty: no record start was found. Otherwise there is at least one stretch.
  std::optional<uint64_t> begin = {};
  uint64_t end = 0;
  std::vector<ParallelRecordScanner::Stretch> stretches = {};
};

// Searches for an intact record that starts in the first 64 KiB of the chunk [begin, end).
// Continues from it past the chunk's end, or up to data that can't be checked without reading much
// further.
ChunkFacts scan_chunk(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                      std::stop_token stop);

// The intact records that follow each other from `begin` on; `end` is the expected end of the last
// one.
IntactRecords check_records(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                            std::stop_token stop);

// The CRC of [begin, end).
uint32_t check_piece(const RandomAccessFile& file, uint64_t begin, uint64_t end);

}  // namespace recordpipe
