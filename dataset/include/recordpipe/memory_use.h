// What a pipeline's elements and buffers take, and the error where that is too much.
#pragma once

#include <cstdint>

#include "recordpipe/error.h"

namespace recordpipe {

// In bytes.
struct MemoryUse {
  uint64_t bytes = 0;  // at present
  uint64_t peak = 0;
  uint64_t limit = 0;
};

// The pipeline can't do with the memory it has (PipelineOptions::memory_limit): the end of all of
// it, not of an element or an input, so ignore_errors doesn't skip it.
class MemoryLimitExceeded : public Error {
 public:
  explicit MemoryLimitExceeded(const MemoryUse& use);
};

}  // namespace recordpipe
