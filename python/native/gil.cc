#include "python/native/gil.h"

#include <mutex>

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

namespace recordpipe::python {
namespace {

std::mutex making_state;
PyInterpreterState* interpreter = nullptr;

[[maybe_unused]] const int registered = pthread_atfork(
    [] { making_state.lock(); }, [] { making_state.unlock(); }, [] { making_state.unlock(); });

// Calls a function that takes the GIL.
template <class Take>
auto take_gil(const Take& take) {
  try {
    return take();
  } catch (const abi::__forced_unwind&) {
    while (true) pause();
  }
}

}  // namespace

void define_gil() { interpreter = PyInterpreterState_Get(); }

GilScope::GilScope() {
  if (PyGILState_GetThisThreadState()) {
    before_ = take_gil([] { return PyGILState_Ensure(); });
    return;
  }
  PyThreadState* state = nullptr;
  {
    const std::lock_guard lock(making_state);
    state = PyThreadState_New(interpreter);
  }
  take_gil([&] { PyEval_RestoreThread(state); });
  before_ = PyGILState_UNLOCKED;  // the destructor deletes the state, with the GIL
}

GilRelease::~GilRelease() {
  take_gil([&] { PyEval_RestoreThread(state_); });
}

}  // namespace recordpipe::python
