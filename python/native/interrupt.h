// Ctrl-C while the main thread waits in the library, without the GIL.
//
// Python's own signal handler only sets a flag, which the interpreter reads when it gets the GIL
// again. While an InterruptScope exists, SIGINT also makes a thread call a function, which ends the
// wait.
#pragma once

#include <functional>

namespace recordpipe::python {

class InterruptScope {
 public:
  // Does nothing except on the main thread, and if SIGINT is ignored or has its default action.
  // `stop` is called on another thread, at most once, and not after the destructor.
  explicit InterruptScope(std::function<void()> stop);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool is_active_ = false;
};

}  // namespace recordpipe::python
