// How a Dataset is run; what it yields doesn't depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "recordpipe/chrome_trace.h"

namespace recordpipe {

struct PipelineOptions {
  // Threads that compute elements, the one that iterates (or a prefetch thread) included: always as
  // many. 0: available_cpus() (cores, CPU affinity, cgroup quota), or fewer if that is enough to
  // keep the consumer from waiting, found out while it runs. At most kMaxThreads. Each stays with a
  // chunk of its own, or a batch where that is more: two more than threads are in memory at once.
  size_t threads = 0;
  // Source elements that one thread does in one go, the grain of the work: 1 to kMaxChunkSize.
  size_t chunk_size = 64;
  // Bytes that elements and buffers may take, as Iterator::memory() counts them: elements in work,
  // kept ready by prefetch, or held by cache (those that the iterator has reached, cache.h), filter
  // and others of that kind; 32 bytes for each place in a shuffle. element.h says how an
  // element is measured. As the limit comes near, there is less work at the same time, and less
  // kept ready; it may be passed for a moment, by a chunk that came out larger than those before.
  // Where a chunk or a buffer that was asked for alone doesn't fit, where the pipeline stays above
  // it with one chunk at a time for each operator that computes, or comes to twice as much:
  // MemoryLimitExceeded, an Error{limit_exceeded}, which ends the iteration whatever ignore_errors
  // says.
  uint64_t memory_limit = UINT64_MAX;
  // What the threads do is written there.
  std::shared_ptr<ChromeTrace> trace = nullptr;

  static constexpr size_t kMaxThreads = 1024;
  static constexpr size_t kMaxChunkSize = size_t{1} << 20;
};

// prefetch's buffer size, where it is to find out by itself: a number that suits the pipeline.
inline constexpr size_t kAutotune = SIZE_MAX;

}  // namespace recordpipe
