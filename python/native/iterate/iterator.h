// One pass over a PythonDataset.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "python/native/dataset/dataset.h"
#include "python/native/interpreter/interpreter_exit.h"
#include "python/native/iterate/interruptible_pass.h"
#include "python/native/iterate/lease.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/base/internal/work_owner.h"
#include "recordpipe/pipeline/extension.h"
#include "recordpipe/pipeline/iterator.h"

namespace recordpipe::python {

// All functions are called with the GIL, and release it while they wait. Calls from several threads
// wait for each other. A signal handler in the middle of next(), a function of the pipeline on any
// thread, and a finalizer of an element that close() destroys, may call close(); other calls, which
// would wait for themselves, throw Error{invalid_argument}.
// In a child made by fork(), where an inherited mutex may be locked for ever, all functions throw
// Error{invalid_argument}, except that close() and the destructor do nothing.
class PythonIterator {
 public:
  // Calls at_end(epoch), unless it is None, when the pass has ended by itself.
  PythonIterator(const PythonDataset& dataset, std::optional<uint64_t> epoch, nb::object at_end);
  ~PythonIterator();

  // Throws nb::stop_iteration at the end. Throws what the handler of a signal raises during a wait
  // (Ctrl-C: KeyboardInterrupt); the next call goes on after the last element.
  nb::object next();
  // From now on, next() returns convert(element). If it raises, the element is not lost: the next
  // call converts it again. (A function in Python that called next() could lose it: a signal's
  // handler may raise in between.)
  void set_conversion(nb::object convert) { convert_ = std::move(convert); }
  // Is called once, before the first element, unless a state is restored.
  void set_at_first(nb::object at_first) { at_first_ = std::move(at_first); }
  // (bytes, position): of the same place, whatever other threads do.
  nb::tuple state();
  // As next(), throws what a handler raises; the pass then starts its epoch again, unless it has
  // reached the place.
  void restore(std::string_view state);
  uint64_t epoch();
  uint64_t position();
  uint64_t plan_hash() const { return plan_hash_; }
  // What the plan's hash leaves out of functions.
  const std::vector<std::string>& not_compared() const { return not_compared_; }
  // The state, as if it had been saved with the functions of this pass.
  std::string with_own_code(std::string_view state);
  uint64_t workers() const { return workers_; }
  LeasePool::Counts leases() const { return pool_->counts(); }
  // The profile of the operators, as text.
  std::string statistics();
  // What ignore_errors() has left out.
  SkippedReport skipped();
  // Stops the threads, and ends the iteration: next(), also a call that waits on another thread,
  // throws nb::stop_iteration. Other calls throw Error{invalid_argument}.
  void close();

 private:
  template <class T>
  using PassOf = std::unique_ptr<InterruptiblePass<T>>;
  using Pass = std::variant<std::monostate, PassOf<Record>, PassOf<ParsedBatch>, PassOf<ImageBatch>,
                            PassOf<PythonObject>>;

  // Holds mutex_. Throws if this thread holds it, as a signal handler in the middle of next()
  // would, or works for the pass, as a function of the pipeline.
  class Use {
   public:
    explicit Use(PythonIterator& iterator);
    ~Use() { unlock(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    void unlock();

   private:
    PythonIterator& iterator_;
    std::optional<internal::WorkScope> scope_;
    bool is_locked_ = true;
  };

  // Returns the next element, or nothing at the end. Leaves `lock` locked if there is a conversion.
  nb::object take(Use& lock);
  // Calls function(InterruptiblePass<T>&) without the GIL, while no other thread uses the pass.
  template <class Function>
  auto locked(const Function& function);

  const internal::MakerProcess maker_;
  // Of this pass's threads.
  const std::shared_ptr<PassOwner> owner_ = std::make_shared<PassOwner>(internal::work_owner);
  std::shared_ptr<const ParseSpec> spec_;
  bool single_ = false;
  nb::object at_end_;
  nb::object convert_;
  nb::object at_first_;
  nb::object unread_;  // was taken; its conversion has failed
  extension::NodePtr node_;
  uint64_t plan_hash_ = 0;
  uint64_t checked_write_ = 0;  // with the GIL
  std::vector<std::string> not_compared_;
  uint64_t workers_ = 1;
  std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
  std::mutex mutex_;
  std::atomic<std::thread::id> user_;  // holds mutex_
  // Held while pass_ is replaced, or stopped without mutex_; after mutex_, if both are.
  std::mutex close_mutex_;
  // Until the pass is closed. The interpreter's end closes all passes, but doesn't find one that
  // the garbage collector is destroying.
  std::unique_ptr<ExitGuard> guard_ = std::make_unique<ExitGuard>();
  Pass pass_;
};

}  // namespace recordpipe::python
