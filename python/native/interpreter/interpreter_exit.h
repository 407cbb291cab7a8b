// The end of the interpreter while daemon threads are in the library.
//
// Once the interpreter has begun to end, Python ends each thread that tries to acquire the GIL, by
// unwinding its stack, which C++ frames do not survive. Long functions therefore hold an ExitGuard.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

// Makes the interpreter's end wait for ExitGuards, for at most 5 seconds. Must be called once, when
// the module is imported.
void watch_interpreter_exit();

// Called by the interpreter's end before it closes the passes.
void begin_exit();

// If the interpreter's end has begun, does not return, except on the thread that ends it; throws
// Error{cancelled} on a thread of a pass. For example, where a pass was closed: to the thread, the
// elements so far would look like all of them, and it might complete a file with them. Before an
// ExitGuard, it keeps the thread from beginning what nobody would wait for. Needs the GIL.
void stay_if_exit_has_begun();

// While it exists, the interpreter does not end. Needs the GIL at construction, and at destruction
// unless the thread doesn't use Python after it; in between, the thread may release and acquire it.
class ExitGuard {
 public:
  ExitGuard();
  ~ExitGuard();
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;

  // Whether the interpreter waits for this guard: the thread should call park() soon, without the
  // GIL.
  static bool is_over();
  // Lets the interpreter end, and never returns: the thread waits for the end of the process.
  [[noreturn]] static void park();
};

}  // namespace recordpipe::python
