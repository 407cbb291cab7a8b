// A function on a thread of its own, so that the thread which waits for it can run the handlers of
// signals meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "recordpipe/base/internal/fork.h"

namespace recordpipe::python {

class BackgroundCall {
 public:
  // The thread works for what the caller works for (work_owner.h). `function` must not throw, and
  // takes the GIL if it needs it. Throws recordpipe::Error if there is no thread. Without the GIL.
  explicit BackgroundCall(std::function<void()> function);
  // Joins, unless it is inherited.
  ~BackgroundCall();
  BackgroundCall(const BackgroundCall&) = delete;
  BackgroundCall& operator=(const BackgroundCall&) = delete;

  // Waits until the function has returned. On the main thread, runs the handlers of signals
  // meanwhile and throws what they raise: the function goes on, and wait() can be called again.
  // Throws Error{invalid_argument} in a child that a handler has made by fork(). With the GIL,
  // which it releases.
  void wait();
  // Waits until the function has returned, unless it is inherited. Runs no handlers. Without the
  // GIL.
  void join();
  bool has_returned() const;
  // Whether this is a child made by fork(), which has no such thread.
  bool is_inherited() const { return !maker_.is_this(); }

 private:
  struct State;

  const internal::MakerProcess maker_;
  const std::unique_ptr<State, internal::DeleteUnlessForked> state_;
};

// Calls function(std::stop_token) on a thread of its own, and throws its exception. What the
// handler of a signal raises meanwhile stops it, and is thrown. With the GIL, which it releases.
void call_in_background(const std::function<void(std::stop_token)>& function);

}  // namespace recordpipe::python
