// Counts the allocations of a program that is linked with allocation_counter.cc.
#pragma once

#include <cstddef>

namespace recordpipe {

// The number of operator new calls since the program started, on any thread; under sanitizers also
// malloc.
size_t allocations();

// Returns whether `count` consecutive calls of `step` eventually run without an allocation. The
// first calls may allocate: a queue may grow longer than before, or a thread may work in a chunk
// for the first time. Recurring allocations are detected.
template <class Step>
bool comes_to_take_no_memory(size_t count, Step step) {
  for (int tries = 0; tries < 40; ++tries) {
    const size_t before = allocations();
    for (size_t i = 0; i < count; ++i) step();
    if (allocations() == before) return true;
  }
  return false;
}

}  // namespace recordpipe
