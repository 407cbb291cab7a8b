// Runs independent work on several threads, with the errors of one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace recordpipe::rlds {

// Calls work(i) for each i < count on `threads` threads, the caller's among them. Throws the
// exception of the lowest i that failed: the same on any number of threads.
void for_each_in_parallel(uint64_t count, size_t threads,
                          const std::function<void(uint64_t)>& work);

}  // namespace recordpipe::rlds
