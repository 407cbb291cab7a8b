// TbbArena on tbb::task_arena.
#include "dataset/pipeline/tbb_arena.h"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace recordpipe {

struct TbbArena::State {
  explicit State(size_t workers)
      : limit(tbb::global_control::max_allowed_parallelism, workers + 1),
        arena(static_cast<int>(workers), /*reserved_for_masters=*/0) {}

  // TBB starts one thread less than there are cores unless it is told otherwise.
  tbb::global_control limit;
  tbb::task_arena arena;
};

TbbArena::TbbArena(size_t workers) : state_(std::make_unique<State>(workers)) {}
TbbArena::~TbbArena() = default;

void TbbArena::enqueue(void (*function)(void*), void* argument) {
  state_->arena.enqueue([function, argument] { function(argument); });
}

}  // namespace recordpipe
