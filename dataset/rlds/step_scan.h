// The pass over a file that its index of steps is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/rlds/step_index.h"
#include "recordpipe/rlds/step_layout.h"

namespace recordpipe::rlds {

struct ScannedEpisode {
  RecordIndexEntry record;
  uint32_t crc = 0;  // the masked CRC of the data, which was right
  EpisodeLayout layout;
  std::vector<uint32_t> leaf_crcs;   // of strided leaves: of the bytes of all units
  std::vector<uint32_t> range_crcs;  // of the layout's ranges
};

// As StepIndex::scan().
std::vector<ScannedEpisode> scan_episodes(const RandomAccessFile& file,
                                          std::span<const StepLeaf> leaves,
                                          const StepIndexOptions& options);

}  // namespace recordpipe::rlds
