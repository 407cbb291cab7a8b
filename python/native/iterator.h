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

#include "python/native/dataset.h"
#include "python/native/lease.h"
#include "recordpipe/internal/fork.h"
#include "recordpipe/internal/work_owner.h"
#include "recordpipe/iterator.h"

namespace recordpipe::python {

// All functions are called with the GIL, and release it while they wait. Calls from several threads
// wait for each other. A signal handler in the middle of next(), and a function of the pipeline on
// any thread, may call close(); other calls, which would wait for themselves, throw
// Error{invalid_argument}.
// In a child made by fork(), where an inherited mutex may be locked for ever, all functions throw
// Error{invalid_argument}, except that close() and the destructor do nothing.
class PythonIterator {
 public:
  // Calls at_end(epoch), unless it is None, when the pass has ended by itself.
  PythonIterator(const PythonDataset& dataset, std::optional<uint64_t> epoch, nb::object at_end);
  ~PythonIterator();

  // Throws nb::stop_iteration at the end. Ctrl-C ends a wait with KeyboardInterrupt; the next call
  // goes on after the last element.
  nb::object next();
  // (bytes, position): of the same place, whatever other threads do.
  nb::tuple state();
  // Ctrl-C ends a wait with KeyboardInterrupt; the pass then starts its epoch again.
  void restore(std::string_view state);
  uint64_t epoch();
  uint64_t position();
  uint64_t plan_hash() const { return plan_hash_; }
  LeasePool::Counts leases() const { return pool_->counts(); }
  // The profile of the operators, as text.
  std::string statistics();
  // What ignore_errors() has left out.
  SkippedReport skipped();
  // Stops the threads, and ends the iteration: next(), also a call that waits on another thread,
  // throws nb::stop_iteration. Other calls throw Error{invalid_argument}.
  void close();

 private:
  using Pass = std::variant<std::monostate, Iterator<Record>, Iterator<ParsedBatch>,
                            Iterator<ImageBatch>, Iterator<PythonObject>>;

  // Returns pass.next(), without the GIL if it must wait. Goes on after a signal whose handler has
  // not raised an exception. Needs the lock.
  template <class T>
  T* next_of(Iterator<T>& pass);
  // Calls pass.restore(state) in the same way.
  template <class T>
  void restore_of(Iterator<T>& pass, std::string_view state);
  // Ends the wait of either; from the thread that watches for signals.
  template <class T>
  void interrupt(Iterator<T>& pass);
  // Calls function(Iterator<T>&) without the GIL, while no other thread uses the pass.
  template <class Function>
  auto locked(const Function& function);

  const internal::MakerProcess maker_;
  // Of this pass's threads.
  const std::shared_ptr<internal::WorkOwner> owner_ =
      std::make_shared<internal::WorkOwner>(internal::work_owner);
  std::shared_ptr<const ParseSpec> spec_;
  bool rows_;
  nb::object at_end_;
  uint64_t plan_hash_ = 0;
  std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
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

  std::mutex mutex_;
  std::atomic<std::thread::id> user_;  // holds mutex_
  std::mutex close_mutex_;             // held while pass_ is replaced, or stopped without mutex_
  Pass pass_;
  std::atomic<bool> is_interrupted_ = false;  // the pass is stopped, or is being stopped
  std::atomic<bool> is_closing_ = false;
};

}  // namespace recordpipe::python
