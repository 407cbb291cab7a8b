#include "python/native/gil.h"

#include <mutex>

#include <pthread.h>

namespace recordpipe::python {
namespace {

std::mutex making_state;
PyInterpreterState* interpreter = nullptr;

[[maybe_unused]] const int registered = pthread_atfork(
    [] { making_state.lock(); }, [] { making_state.unlock(); }, [] { making_state.unlock(); });

}  // namespace

void define_gil() { interpreter = PyInterpreterState_Get(); }

GilScope::GilScope() {
  if (PyGILState_GetThisThreadState()) {
    before_ = PyGILState_Ensure();
    return;
  }
  PyThreadState* state = nullptr;
  {
    const std::lock_guard lock(making_state);
    state = PyThreadState_New(interpreter);
  }
  PyEval_RestoreThread(state);
  before_ = PyGILState_UNLOCKED;  // the destructor deletes the state, with the GIL
}

}  // namespace recordpipe::python
