// Counts allocations: in a program linked with allocation_counter.cc, operator new is counted.
#pragma once

#include <cstddef>

namespace recordpipe {

// The number of operator new calls since the program started, on any thread; under sanitizers also
// malloc.
size_t allocations();

// Whether `count` consecutive calls of `step` eventually run without an allocation. Not at once:
// now and then a queue grows longer than before, or a thread works in a chunk for the first time.
// Recurring allocations are detected.
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
