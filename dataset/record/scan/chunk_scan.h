// Scans a part of a file on one thread of a parallel scan. The results are facts about this part:
// they do not depend on where the scan comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/record/parallel_record_scanner.h"

namespace recordpipe {

// The results of a walk from `begin` up to `end`.
struct ChunkFacts {
  // std::nullopt if no record start was found. Otherwise there is at least one stretch.
  std::optional<uint64_t> begin = {};
  uint64_t end = 0;
  std::vector<ParallelRecordScanner::Stretch> stretches = {};
};

// Searches for an intact record that starts in the first 64 KiB of the chunk [begin, end).
// Continues from that record past the chunk's end, or up to data that can't be checked without
// reading much further.
ChunkFacts scan_chunk(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                      std::stop_token stop);

// Returns the intact records that directly follow one another from `begin` on. `end` is the
// expected end of the last record.
IntactRecords check_records(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                            std::stop_token stop);

// Returns the CRC of [begin, end).
uint32_t check_piece(const RandomAccessFile& file, uint64_t begin, uint64_t end);

}  // namespace recordpipe
