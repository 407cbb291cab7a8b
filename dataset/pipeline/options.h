// How a Dataset is run; what it yields doesn't depend on it.
#pragma once

#include <cstddef>

#include "dataset/pipeline/stage.h"

namespace recordpipe {

struct PipelineOptions {
  // Threads that compute elements, the one that iterates (or a prefetch thread) included;
  // 0: as many as the machine has cores. At most kMaxThreads.
  size_t threads = 0;
  // Source elements that one thread does in one go, the grain of the work: 1 to kMaxChunkSize.
  size_t chunk_size = 64;

  static constexpr size_t kMaxThreads = 1024;
  static constexpr size_t kMaxChunkSize = size_t{1} << 20;
};

// The context of one iteration, with a pool of its own where there is more than one thread. Throws
// Error{invalid_argument} for options out of range.
StageContext make_stage_context(const PipelineOptions& options);

}  // namespace recordpipe
