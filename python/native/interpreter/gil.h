// Holds the GIL on threads that Python has not started.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

// Whether this is the main interpreter; else sets ImportError. The threads of pipelines run
// functions in the main one, and PyGILState_Ensure(), by which they get there, waits for ever on a
// thread that holds the GIL for a sub-interpreter.
bool is_main_interpreter() noexcept;
// Must be called when the module is made.
void define_gil();
bool holds_gil() noexcept;  // this thread; also where it has no PyThreadState
// For the interpreter's end, which calls it without the GIL: from now on, other threads that would
// take the GIL sleep until the process has ended (thread_end.h). Waits for threads that are taking
// it now.
void refuse_gil();

// Like nb::gil_scoped_acquire, but safe beside fork(): the first use of Python by a thread makes a
// PyThreadState, under a lock of the interpreter but without the GIL. If another thread calls
// os.fork() meanwhile, CPython 3.11 waits for this lock in the child, for ever. So fork() waits
// here until no thread is making a state. CPython 3.13 and newer take that lock in os.fork(),
// before fork(): to wait here would then be a deadlock.
class GilScope {
 public:
  GilScope();
  ~GilScope() { PyGILState_Release(before_); }
  GilScope(const GilScope&) = delete;
  GilScope& operator=(const GilScope&) = delete;

 private:
  PyGILState_STATE before_;
};

// Like nb::gil_scoped_release. While the interpreter ends, CPython 3.11 to 3.13 end a thread that
// asks for the GIL by unwinding its stack, which terminates the process at the first destructor or
// noexcept function. Here (and in GilScope), the thread sleeps until the process has ended, as from
// CPython 3.14 on.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace recordpipe::python
