// Checks the memory limit and builds the error message.
#include "dataset/pipeline/execute/memory_account.h"

#include <string>

namespace recordpipe {

MemoryLimitExceeded::MemoryLimitExceeded(const MemoryUse& use)
    : Error({.kind = ErrorKind::limit_exceeded,
             .reason = "the pipeline needs " + std::to_string(use.bytes) +
                       " bytes and maybe more, memory_limit=" + std::to_string(use.limit) +
                       " allows less",
             .hint = "allow more, or make batches, buffers, prefetch or chunk_size smaller"}) {}

namespace internal {

void MemoryAccount::check(uint64_t bytes) const {
  if (bytes > limit_) throw MemoryLimitExceeded(use());
}

void MemoryAccount::check_total() const {
  if (bytes_.load(std::memory_order_relaxed) / 2 > limit_) throw MemoryLimitExceeded(use());
}

}  // namespace internal
}  // namespace recordpipe
