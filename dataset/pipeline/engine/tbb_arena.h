// A oneTBB arena, and nothing but that: the only place that includes TBB.
#pragma once

#include <cstddef>
#include <memory>

namespace recordpipe::internal {

// Compiled without ThreadSanitizer: stock TBB's synchronisation is invisible to it, so what TBB's
// headers do with a task would be reported as races. A function and its argument cross that line;
// what they have to see of each other's memory they synchronise themselves.
class TbbArena {
 public:
  // At most `workers` of TBB's threads at a time. Where that is more than TBB has (one less than
  // there are cores), TBB is told to have as many, for good: its limit is only ever raised.
  explicit TbbArena(size_t workers);
  ~TbbArena();
  TbbArena(const TbbArena&) = delete;
  TbbArena& operator=(const TbbArena&) = delete;

  // Has a worker call function(argument) once, even if the arena is gone by then.
  void enqueue(void (*function)(void*), void* argument);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe::internal
