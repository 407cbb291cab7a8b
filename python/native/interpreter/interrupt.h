// Ctrl-C, and other signals, while the main thread waits in the library, without the GIL.
//
// Python's own signal handler only sets a flag, which the interpreter reads when it gets the GIL
// again. While an InterruptScope exists, a signal (SIGINT, SIGTERM, SIGALRM, SIGHUP, SIGUSR1 and
// SIGUSR2) also makes a thread call a function, which ends the wait. For that, the first scope puts
// a handler in front of Python's, which stays.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <nanobind/nanobind.h>

#include "python/native/interpreter/background_call.h"
#include "python/native/interpreter/gil.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {

// Whether this is the main thread of the process.
bool on_main_thread();

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
  bool tells_watcher_ = false;  // Python does, of each signal
};

// For the exception of a function in Python, which a pass has called. If the main thread waits for
// this pass, and a signal has come during its scope, the exception may be that of the signal's
// handler, which the function has run. Then keeps it, waits until `stop` has returned, and returns
// true: the wait ends, and raise_interrupt() throws what has ended it. Needs the GIL.
bool keep_if_raised_by_interrupt(const std::exception_ptr& exception);
// After a scope of this thread: throws what was kept during it; else runs the handlers of signals,
// and throws what they raise. Needs the GIL.
void raise_interrupt();

// Returns function(std::stop_token), called without the GIL. What the handler of a signal raises
// (Ctrl-C) stops it. `function` throws Error{cancelled} when it is stopped. If a handler raises
// nothing, it is called again, on a thread of its own, which later signals don't stop.
template <class Function>
auto interruptible(const Function& function) {
  using Result = std::invoke_result_t<const Function&, std::stop_token>;
  if constexpr (std::is_void_v<Result>) {
    (void)interruptible([&](std::stop_token stop) {
      function(std::move(stop));
      return true;
    });
  } else {
    const auto stop = std::make_unique<std::stop_source>();  // GCC 12 warns about one on the stack
    try {
      const InterruptScope scope([&] { stop->request_stop(); });
      // A signal that came before the scope is noticed here.
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      const GilRelease no_gil;
      return function(stop->get_token());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || !stop->stop_requested()) throw;
    }
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    std::optional<Result> result;
    call_in_background([&](std::stop_token own) { result.emplace(function(std::move(own))); });
    return std::move(*result);
  }
}

}  // namespace recordpipe::python
