// Wraps a oneTBB arena; only tbb_arena.cc includes TBB.
#pragma once

#include <cstddef>
#include <memory>

namespace recordpipe::internal {

// Compiled without ThreadSanitizer, which doesn't see the synchronization of stock TBB and would
// report false races in TBB's headers. Only a function and its argument cross this interface; they
// synchronize their memory accesses themselves.
class TbbArena {
 public:
  // At most `workers` of TBB's threads run at a time. If this exceeds TBB's number of threads (one
  // less than the cores), TBB's process-wide limit is raised permanently.
  explicit TbbArena(size_t workers);
  ~TbbArena();
  TbbArena(const TbbArena&) = delete;
  TbbArena& operator=(const TbbArena&) = delete;

  // Makes a worker call function(argument) once, even if the arena is destroyed by then.
  void enqueue(void (*function)(void*), void* argument);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe::internal
