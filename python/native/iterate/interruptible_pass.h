// A pass whose waits run the handlers of signals.
//
// Only the main thread can run Python's handlers, so it has to leave each wait when a signal comes.
// A pass waits in one of two ways:
//
//   here           until the first signal. The calling thread computes elements, too, so that
//                  functions in Python run on the thread that iterates. It can't leave such a wait
//                  with half an element: a signal stops the pass, whose place is kept.
//   in background  since then. The pass computes on a thread of its own, whatever comes, and
//                  the calling thread only waits and runs handlers. The exception of a handler
//                  leaves the wait; the next call waits for the same element. So there is progress
//                  however often signals come, and no function can be given a handler's exception.
//                  Only what is not an Exception (KeyboardInterrupt) stops the pass.
//
// A stopped pass has to be moved to its place again before it goes on (Iterator::request_stop()).
// This is done in background.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nanobind/nanobind.h>

#include "python/native/interpreter/background_call.h"
#include "recordpipe/base/internal/work_owner.h"
#include "recordpipe/pipeline/iterator.h"

namespace recordpipe::python {

// What the threads of a pass work for.
struct PassOwner : internal::WorkOwner {
  using WorkOwner::WorkOwner;

  // From any thread: the element in work is the last one.
  void close() {
    is_closing = true;
    is_stopping = true;
  }
  // After a stop.
  void go_on() {
    is_stopping = false;
    if (is_closing) is_stopping = true;  // close() may have come in between
  }

  std::atomic<bool> is_closing = false;
};

struct Place {
  std::string state;
  uint64_t position = 0;
};

// Used by one thread at a time, except request_stop().
template <class T>
class InterruptiblePass {
 public:
  InterruptiblePass(Iterator<T> pass, std::shared_ptr<PassOwner> owner)
      : pass_(std::move(pass)), owner_(std::move(owner)) {}
  // Without the GIL.
  ~InterruptiblePass();
  InterruptiblePass(const InterruptiblePass&) = delete;
  InterruptiblePass& operator=(const InterruptiblePass&) = delete;

  // Returns the next element; null at the end, and once the owner is closing. Throws what a handler
  // raises; the next call then returns the element. With the GIL, which it releases to wait.
  T* next();
  // Like Iterator::restore(); throws what a handler raises, and the pass then starts its epoch
  // again, unless it has reached the place. With the GIL, which it releases to wait.
  void restore(std::string_view state);
  // From any thread, for close(), after owner->close(): next() returns null, restore() throws
  // Error{cancelled}.
  void request_stop() { pass_.request_stop(); }

  // Without the GIL. These stop an element in work that an exception has left; next() begins it
  // anew.
  Place place();
  uint64_t position();
  uint64_t epoch() { return settled().epoch(); }
  // For thread-safe functions.
  const Iterator<T>& iterator() const { return pass_; }

  void unread() { pass_.unread(); }

 private:
  struct Outcome {
    bool has_ended = false;  // pass_.next() has returned
    T* element = nullptr;
    std::exception_ptr failure;
  };
  struct Job {
    Outcome outcome;
    std::optional<BackgroundCall> call;  // destroyed first: uses the outcome
  };

  Iterator<T>& settled();
  Outcome wait();
  Outcome compute_here();
  void compute(Outcome& outcome) noexcept;
  void start();
  bool finish(const Outcome& outcome, T*& element);
  bool is_own(const std::exception_ptr& failure) const;
  void stop();
  void stop_unless_exception(const nanobind::python_error& raised);
  void note_stop();
  void forget_stop();
  bool restore_here(std::string_view state);
  std::exception_ptr try_restore(std::string_view state);
  void leave_restore(std::string_view state, const std::exception_ptr& failure);
  void restore_in_background(std::string_view state);

  Iterator<T> pass_;
  const std::shared_ptr<PassOwner> owner_;
  std::optional<Place> resume_at_;        // where the pass has to be moved first; used by the job
  std::atomic<bool> is_stopped_ = false;  // by stop(); pass_ has its place
  bool in_background_ = false;
  std::unique_ptr<Job> job_;  // computes the next element
};

}  // namespace recordpipe::python
