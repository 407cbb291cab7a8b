// Ctrl-C, and other signals, while the main thread waits in the library, without the GIL.
//
// Python's own signal handler only sets a flag, which the interpreter reads when it gets the GIL
// again. While an InterruptScope exists, a signal (SIGINT, SIGTERM, SIGALRM, SIGHUP, SIGUSR1 and
// SIGUSR2) also makes a thread call a function, which ends the wait. For that, the first scope puts
// a handler in front of Python's, which stays.
#pragma once

#include <exception>
#include <functional>
#include <stop_token>

#include <nanobind/nanobind.h>

#include "python/native/gil.h"
#include "recordpipe/error.h"

namespace recordpipe::python {

class InterruptScope {
 public:
  // Does nothing except on the main thread. Signals that are ignored or have their default action
  // stay so.
  // `stop` is called on another thread, at most once, and not after the destructor.
  explicit InterruptScope(std::function<void()> stop);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool is_active_ = false;
};

// For the exception of a function in Python. If a signal has come during the scope of this thread,
// the exception may be that of the signal's handler, which such a function has run. Then keeps it,
// waits until `stop` has returned, and returns true: the wait ends, and take_raised_by_interrupt()
// returns what has ended it. Needs the GIL.
bool keep_if_raised_by_interrupt(const std::exception_ptr& exception);
// Returns what was kept during the last scope of this thread, or nothing. Needs the GIL.
std::exception_ptr take_raised_by_interrupt();

// Returns function(std::stop_token), called without the GIL; Ctrl-C stops it. `function` throws
// Error{cancelled} when it is stopped. If the signal's handler raises nothing, it is called again.
template <class Function>
auto interruptible(const Function& function) {
  while (true) {
    std::stop_source stop;
    try {
      const InterruptScope scope([&] { stop.request_stop(); });
      // A signal that came before the scope is noticed here.
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      const GilRelease no_gil;
      return function(stop.get_token());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || !stop.stop_requested()) throw;
    }
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }
}

}  // namespace recordpipe::python
