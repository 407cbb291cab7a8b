#include "recordpipe/base/internal/fork.h"

#include <atomic>
#include <utility>

#include <pthread.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/fork_block.h"

namespace recordpipe::internal {

// All AfterFork objects. fork() waits until no other thread changes the list.
struct ForkHandlers {
  static inline constinit std::atomic<uint64_t> generation = 0;
  static inline constinit std::mutex mutex;
  static inline constinit AfterFork* first = nullptr;
  static inline constinit std::atomic<const ForkHooks*> hooks = nullptr;

  static void add(AfterFork& handler) {
    const std::lock_guard lock(mutex);
    handler.next_ = first;
    if (first) first->previous_ = &handler;
    first = &handler;
  }

  static void remove(AfterFork& handler) {
    const std::lock_guard lock(mutex);
    (handler.previous_ ? handler.previous_->next_ : first) = handler.next_;
    if (handler.next_) handler.next_->previous_ = handler.previous_;
  }

  static void prepare() {
    if (const ForkHooks* const set = hooks) set->before();
    mutex.lock();
  }
  static void in_parent() {
    mutex.unlock();
    if (const ForkHooks* const set = hooks) set->in_parent();
  }
  static void in_child() {
    ++generation;
    for (AfterFork* handler = first; handler; handler = handler->next_) handler->function_();
    mutex.unlock();
    if (const ForkHooks* const set = hooks) set->in_child();
  }
};

namespace {

// Before main(), or when the library is loaded: nothing that matters was made before. An error
// (no memory) is ignored: the process can't fork safely, like without this library's support.
[[maybe_unused]] const int registered =
    pthread_atfork(ForkHandlers::prepare, ForkHandlers::in_parent, ForkHandlers::in_child);

}  // namespace

uint64_t fork_generation() noexcept {
  return ForkHandlers::generation.load(std::memory_order_relaxed);
}

void MakerProcess::require_this(const char* what, const std::string& path) const {
  if (is_this()) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = path,
               .reason = std::string(what) + " was made before fork(), by the parent process",
               .hint = "make a new one in this process"});
}

AfterFork::AfterFork(std::function<void()> function) : function_(std::move(function)) {
  ForkHandlers::add(*this);
}

AfterFork::~AfterFork() { ForkHandlers::remove(*this); }

void set_fork_hooks(const ForkHooks& hooks) noexcept {
  static ForkHooks kept;
  kept = hooks;
  ForkHandlers::hooks = &kept;
}

ForkBlock::ForkBlock() { ForkHandlers::mutex.lock(); }

ForkBlock::~ForkBlock() { ForkHandlers::mutex.unlock(); }

bool renew(std::mutex& mutex) noexcept {
  const bool was_free = mutex.try_lock();
  new (&mutex) std::mutex;
  return was_free;
}

}  // namespace recordpipe::internal
