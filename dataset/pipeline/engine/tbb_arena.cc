// TbbArena on tbb::task_arena.
#include "dataset/pipeline/engine/tbb_arena.h"

#include <memory>
#include <mutex>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace recordpipe::internal {
namespace {

// A tbb::global_control is process-wide; if there are several, the lowest limit applies. So this
// library has at most one, which is replaced by higher ones and never removed.
void allow_workers(size_t workers) {
  using Control = tbb::global_control;
  static std::mutex mutex;
  static Control* control = nullptr;  // never deleted: TBB may be destroyed by then
  const std::lock_guard lock(mutex);
  if (workers + 1 <= Control::active_value(Control::max_allowed_parallelism)) return;
  auto higher = std::make_unique<Control>(Control::max_allowed_parallelism, workers + 1);
  delete control;
  control = higher.release();
}

}  // namespace

struct TbbArena::State {
  explicit State(size_t workers) : arena(static_cast<int>(workers), /*reserved_for_masters=*/0) {}

  tbb::task_arena arena;
};

TbbArena::TbbArena(size_t workers) {
  allow_workers(workers);
  state_ = std::make_unique<State>(workers);
}

TbbArena::~TbbArena() = default;

void TbbArena::enqueue(void (*function)(void*), void* argument) {
  state_->arena.enqueue([function, argument] { function(argument); });
}

}  // namespace recordpipe::internal
