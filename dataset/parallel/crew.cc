#include "dataset/parallel/crew.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/crew_threads.h"

namespace recordpipe::parallel {
namespace {

std::atomic<bool> uses_plain_threads = false;

std::unique_ptr<CrewThreads> make_threads(size_t threads, CrewKind kind) {
#ifdef RECORDPIPE_TBB
  if (kind == CrewKind::computes && !uses_plain_threads) {
    if (auto made = make_tbb_threads(threads)) return made;
  }
#endif
  return make_plain_threads(threads, kind);
}

}  // namespace

Crew::Crew(size_t threads, CrewKind kind) : threads_(make_threads(threads, kind)) {}

Crew::~Crew() = default;

void Crew::submit(std::weak_ptr<Work> work) noexcept {
  try {
    threads_->submit(std::move(work), TaskContext::current());
  } catch (...) {
    // No memory, or no thread: the caller does the work.
  }
}

void use_plain_threads() noexcept { uses_plain_threads = true; }

void run_in_context(std::weak_ptr<Work> work, TaskContext context) noexcept {
  const TaskContextScope scope(std::move(context));
  if (const auto locked = work.lock()) locked->work();
}

void MarketSize::add(size_t threads) {
  if (crews_.empty()) cpus_ = available_cpus();
  crews_.insert(threads);
}

size_t MarketSize::threads() const {
  return crews_.empty() ? 0 : std::max(cpus_ - 1, *crews_.rbegin());
}

}  // namespace recordpipe::parallel
