// How often memory is taken. A program that links allocation_counter.cc has its operator new
// counted.
#pragma once

#include <cstddef>

namespace recordpipe {

// Calls of operator new since the program started, on any thread.
size_t allocations();

}  // namespace recordpipe
