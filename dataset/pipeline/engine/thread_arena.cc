// TbbArena without oneTBB, on threads of its own (RECORDPIPE_STANDALONE).
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "dataset/pipeline/engine/tbb_arena.h"

namespace recordpipe::internal {
namespace {

using Call = std::pair<void (*)(void*), void*>;

// Shared with the threads, which are detached: a call may destroy the arena, and the calls that are
// left then are still made.
struct Calls {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Call> waiting;
  size_t threads = 0;
  size_t idle = 0;
  bool over = false;
};

void run(const std::shared_ptr<Calls>& calls) {
  std::unique_lock lock(calls->mutex);
  while (true) {
    ++calls->idle;
    calls->wake.wait(lock, [&] { return calls->over || !calls->waiting.empty(); });
    --calls->idle;
    if (calls->waiting.empty()) return;
    const auto [function, argument] = calls->waiting.front();
    calls->waiting.pop_front();
    lock.unlock();
    function(argument);
    lock.lock();
  }
}

}  // namespace

struct TbbArena::State {
  explicit State(size_t workers) : most_threads(workers) {}

  const size_t most_threads;
  std::shared_ptr<Calls> calls = std::make_shared<Calls>();
};

TbbArena::TbbArena(size_t workers) : state_(std::make_unique<State>(workers)) {}

TbbArena::~TbbArena() {
  const std::lock_guard lock(state_->calls->mutex);
  state_->calls->over = true;
  state_->calls->wake.notify_all();
}

void TbbArena::enqueue(void (*function)(void*), void* argument) {
  const std::shared_ptr<Calls> calls = state_->calls;
  const std::lock_guard lock(calls->mutex);
  calls->waiting.emplace_back(function, argument);
  // A thread that was notified counts as idle, and its call as waiting, until it wakes up.
  if (calls->waiting.size() <= calls->idle || calls->threads == state_->most_threads) {
    calls->wake.notify_one();
    return;
  }
  try {
    std::thread(run, calls).detach();
    ++calls->threads;
  } catch (const std::system_error&) {
    if (calls->threads > 0) return;  // the others will make the call
    calls->waiting.pop_back();
    throw;
  }
}

}  // namespace recordpipe::internal
