// The threads that compute, shared by the whole process.
#pragma once

#include <cstddef>
#include <memory>

namespace recordpipe::parallel {

class Market;
struct CrewShare;

// Something that the threads of a crew do.
class Work {
 public:
  virtual ~Work() = default;
  // Must not throw, and must not wait for work that no thread has begun: there may be no other
  // thread.
  virtual void work() noexcept = 0;
};

enum class CrewKind {
  // Its threads are those of the process's market, which has about as many as there are cores:
  // crews that live at the same time share them.
  computes,
  // Its threads wait most of the time, for the network or for a consumer. They are its own: as
  // threads of the market, they would keep cores idle.
  waits,
};

// Help for one computation (an iterator's, a scan's): at most `threads` threads at a time, in
// addition to the thread that uses the crew.
//
// The market's threads are oneTBB's, in one tbb::task_arena. Its plain twin, for processes that
// fork (use_plain_threads()), for sanitizers, and where the system refuses threads, has
// std::threads. In both, at most available_cpus() - 1 threads are at work, or as many as the
// largest living crew asks for. oneTBB's are started together, for the first crew, and then sleep;
// plain ones are started when there is work, and end after the last crew.
//
// fork(): the child has none of the threads. It must not use or destroy the parent's crews, and may
// make new ones. oneTBB works in a child only if it was shut down before fork(). A handler of
// fork() does that if no crew lives, and if no other code of the program is using oneTBB (it waits
// for tasks in arenas that such code has destroyed). Otherwise, new crews of the child have plain
// threads.
class Crew {
 public:
  // `threads`: at least 1.
  explicit Crew(size_t threads, CrewKind kind = CrewKind::computes);
  // Doesn't wait for the threads, because one of them may destroy the crew. Whether a thread is in
  // Work::work() is known to the Work.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Makes a thread call work->work() once, soon, in the context of the calling thread
  // (task_context.h), unless the Work or the crew is destroyed by then. The order and the time are
  // not guaranteed, and there may be no thread (all are busy with other crews, or the system has
  // no more of them): the caller must be able to do the work itself. Thread-safe.
  void submit(std::weak_ptr<Work> work) noexcept;

 private:
  const std::shared_ptr<Market> market_;
  const std::shared_ptr<CrewShare> share_;
};

// From now on, new crews of this process have plain threads. For programs whose processes fork
// while crews live, such as Python. Without effect if the library was built without oneTBB
// (RECORDPIPE_TBB=OFF).
void use_plain_threads() noexcept;

}  // namespace recordpipe::parallel
