// Releasing the GIL where a daemon thread may be when the interpreter ends.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace recordpipe::python {

// Like nanobind::gil_scoped_release. When the interpreter has ended, Python before 3.14 ends a
// thread that waits for the GIL by unwinding its stack, which terminates the process at the first
// destructor on the way. Here, the thread waits for the end of the process instead, as in 3.14.
class ReleasedGil {
 public:
  ReleasedGil() : thread_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (abi::__forced_unwind&) {
      while (true) pause();
    }
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* thread_;
};

}  // namespace recordpipe::python
