// How often memory is taken. A program that links allocation_counter.cc has its operator new
// counted.
#pragma once

#include <cstddef>

namespace recordpipe {

// Calls of operator new since the program started, on any thread; under sanitizers those of malloc,
// too.
size_t allocations();

// Whether `step` comes to be called `count` times in a row without memory being taken. Not at once,
// for queues get longer than they ever were, and a thread comes to work in a chunk that it never
// had, some times each, when it so happens; but what takes memory now and again for ever is found.
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
