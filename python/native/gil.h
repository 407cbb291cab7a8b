// Holds the GIL on threads that Python has not started.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

// Must be called when the module is made.
void define_gil();

// Like nb::gil_scoped_acquire, but safe beside fork(): the first use of Python by a thread makes a
// PyThreadState, under a lock of the interpreter but without the GIL. If another thread calls
// os.fork() meanwhile, CPython 3.11 waits for this lock in the child, for ever. So fork() waits
// here until no thread is making a state.
class GilScope {
 public:
  GilScope();
  ~GilScope() { PyGILState_Release(before_); }
  GilScope(const GilScope&) = delete;
  GilScope& operator=(const GilScope&) = delete;

 private:
  PyGILState_STATE before_;
};

}  // namespace recordpipe::python
