// A loop whose iterations are independent of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "dataset/parallel/crew.h"

namespace recordpipe::parallel {

// Calls function(i) for each i < count, on at most `threads` threads, the caller's among them.
// Throws the exception of the lowest i that failed, the same on any number of threads: all
// iterations before it are done, and few after it. Returns, or throws, when no iteration is
// running.
void for_each(uint64_t count, size_t threads, const std::function<void(uint64_t)>& function,
              CrewKind kind = CrewKind::computes);

}  // namespace recordpipe::parallel
