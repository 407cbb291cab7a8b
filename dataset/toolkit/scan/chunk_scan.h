// What one thread of a parallel scan finds out about a part of a file, for itself: facts about the
// file's bytes that hold wherever the scan comes from.
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

// What a walk that comes by `begin` meets from there up to `end`.
struct ChunkFacts {
  // Nothing: no record's start was found. Else there is at least one stretch.
  std::optional<uint64_t> begin = {};
  uint64_t end = 0;
  std::vector<ParallelRecordScanner::Stretch> stretches = {};
};

// Looks for an intact record that starts in the first 64 KiB of the chunk [begin, end), and goes on
// from it until past the chunk's end, or to what can't be told without reading much further.
ChunkFacts scan_chunk(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                      std::stop_token stop);

// How far records are intact, one after another, from `begin` on, and how many; `end` is where the
// last of them should end.
IntactRecords check_records(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                            std::stop_token stop);

// The CRC of [begin, end).
uint32_t check_piece(const RandomAccessFile& file, uint64_t begin, uint64_t end);

}  // namespace recordpipe
