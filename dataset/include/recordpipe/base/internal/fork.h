// Support for processes made by fork().
//
// The child has a copy of all memory, but only the thread that called fork(). A mutex that another
// thread held stays locked there, what it guards may be half changed, and joining or waiting for
// another thread never ends. So, in the child:
//   - Objects with threads (iterators, read-ahead, compressors) are not used and not destroyed:
//     DeleteUnlessForked. Their memory is shared with the parent until one of them writes to it.
//   - Objects that new iterators share with the parent's (caches, connection pools) renew their
//     mutexes before fork() returns: AfterFork.
//   - New iterators have threads of the child: parallel::Crew.
//   - Files and locks of files belong to the parent: AtomicFile.
// vfork() and posix_spawn() share the memory with the parent, or replace it: nothing to do.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <string>

namespace recordpipe::internal {

// The number of forks between the process that loaded this library and this process: an object made
// at another generation was made before fork().
uint64_t fork_generation() noexcept;

// The process that made an object.
class MakerProcess {
 public:
  bool is_this() const noexcept { return generation_ == fork_generation(); }
  // Throws Error{invalid_argument} in a child. `what`: for example "the iterator". `path`: of its
  // file, if there is one.
  void require_this(const char* what, const std::string& path = {}) const;

 private:
  uint64_t generation_ = fork_generation();
};

// Deleter of unique_ptr: a child made by fork() leaks the object.
class DeleteUnlessForked {
 public:
  template <class T>
  void operator()(T* object) const {
    if (maker_.is_this()) delete object;
  }

 private:
  MakerProcess maker_;
};

// Calls a function in each child made by fork(), before fork() returns there. The function must not
// throw, and must not make or destroy an AfterFork. Declare it as the last member, so that it is
// called for complete objects only.
class AfterFork {
 public:
  explicit AfterFork(std::function<void()> function);
  ~AfterFork();
  AfterFork(const AfterFork&) = delete;
  AfterFork& operator=(const AfterFork&) = delete;

 private:
  friend struct ForkHandlers;

  std::function<void()> function_;
  AfterFork* previous_ = nullptr;
  AfterFork* next_ = nullptr;
};

// Functions that fork() calls, and waits for: `before` while other threads may still start and end
// threads, the others when the AfterFork functions have been called. One set for the process, of
// dataset/parallel.
struct ForkHooks {
  void (*before)();
  void (*in_parent)();
  void (*in_child)();
};
void set_fork_hooks(const ForkHooks& hooks) noexcept;

// For functions of AfterFork: makes the mutex a new one. Returns whether it was free at fork(),
// that is, whether what it guards is consistent.
bool renew(std::mutex& mutex) noexcept;

// For functions of AfterFork: replaces `object` without destroying it, because it may be half
// changed, or share a connection with the parent.
template <class T>
void renew_without_destruction(T& object) {
  new (&object) T();
}

}  // namespace recordpipe::internal
