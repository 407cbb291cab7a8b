// What is said where the limit is too small.
#include "dataset/pipeline/memory_account.h"

#include <string>

namespace recordpipe {

void MemoryAccount::check(uint64_t bytes) const {
  if (bytes > limit_) throw over_limit(use());
}

Error over_limit(const MemoryUse& use) {
  return Error({.kind = ErrorKind::limit_exceeded,
                .reason = "the pipeline takes " + std::to_string(use.bytes) +
                          " bytes with one chunk in work at a time, more than memory_limit=" +
                          std::to_string(use.limit),
                .hint = "allow more, or make batches, buffers or chunk_size smaller"});
}

}  // namespace recordpipe
