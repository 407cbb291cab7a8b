// Memory used by a pipeline's elements and buffers, and the error for exceeding the limit.
#pragma once

#include <cstdint>

#include "recordpipe/base/error.h"

namespace recordpipe {

// In bytes.
struct MemoryUse {
  uint64_t bytes = 0;  // current use
  uint64_t peak = 0;
  uint64_t limit = 0;
};

// The pipeline exceeds PipelineOptions::memory_limit. The error ends the whole pipeline, not a
// single element or input, so ignore_errors doesn't skip it.
class MemoryLimitExceeded : public Error {
 public:
  explicit MemoryLimitExceeded(const MemoryUse& use);
};

}  // namespace recordpipe
