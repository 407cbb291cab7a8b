// Options for running a Dataset; they never affect the elements it yields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "recordpipe/pipeline/chrome_trace.h"

namespace recordpipe {

struct PipelineOptions {
  // The most threads that compute elements at a time, including the thread that iterates (or a
  // prefetch thread). 0 (default): available_cpus() (cores, CPU affinity, cgroup quota), or fewer
  // if fewer threads suffice to keep the consumer from waiting; this is measured while the pipeline
  // runs. At most kMaxThreads. The other threads are oneTBB's (in Python plain ones, because
  // processes fork there): all iterators of the process share them, as many as there are cores, or
  // as the largest number of threads that one of them sets. Each thread works on its own chunk (or
  // batch, if that is larger); up to two more chunks than threads are in memory.
  size_t threads = 0;
  // Source elements per unit of work: 1 to kMaxChunkSize.
  size_t chunk_size = 64;
  // Limit in bytes on elements and buffers, as counted by Iterator::memory(): elements being
  // computed, kept ready by prefetch, or held by cache (the elements that the iterator has reached,
  // cache.h), filter and similar operators; and 32 bytes per entry of a shuffle. element.h defines
  // the size of an element. Near the limit, the pipeline does less work at a time and keeps fewer
  // elements ready. It may exceed the limit by a chunk, and briefly by more, if a chunk is larger
  // than those before it.
  //
  // Throws MemoryLimitExceeded, an Error{limit_exceeded} that ends the iteration even with
  // ignore_errors, if a single chunk or buffer exceeds the limit, if the pipeline stays above the
  // limit by more than a chunk with one chunk at a time per computing operator, or if it reaches
  // twice the limit.
  uint64_t memory_limit = UINT64_MAX;
  // If not null, receives the activity of the threads.
  std::shared_ptr<ChromeTrace> trace = nullptr;

  static constexpr size_t kMaxThreads = 1024;
  static constexpr size_t kMaxChunkSize = size_t{1} << 20;
};

// A prefetch buffer size that is chosen automatically.
inline constexpr size_t kAutotune = SIZE_MAX;

}  // namespace recordpipe
