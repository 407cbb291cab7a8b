#include "python/native/interpreter/gil.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "python/native/interpreter/thread_end.h"

namespace recordpipe::python {
namespace {

std::mutex making_state;
PyInterpreterState* interpreter = nullptr;

// Since the interpreter's end; other threads than this one sleep instead of taking the GIL.
std::atomic<bool> is_refused = false;
std::atomic<std::thread::id> refusing_thread;
std::atomic<int> takers = 0;  // threads that are taking the GIL

[[maybe_unused]] const int registered =
    pthread_atfork([] { making_state.lock(); }, [] { making_state.unlock(); },
                   [] {
                     making_state.unlock();
                     takers = 0;
                   });

// Calls a function that takes the GIL.
template <class Take>
void take_gil(const Take& take) {
  ++takers;
  if (is_refused && refusing_thread.load() != std::this_thread::get_id()) {
    --takers;
    while (true) pause();
  }
  sleep_at_thread_end(take);
  --takers;
}

}  // namespace

bool is_main_interpreter() noexcept {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError,
                  "recordpipe doesn't work in sub-interpreters: use it in the main interpreter "
                  "(mod_wsgi: WSGIApplicationGroup %{GLOBAL}), or in a process of its own");
  return false;
}

void define_gil() { interpreter = PyInterpreterState_Get(); }

// The stable ABI has nothing that tells whether a thread has the GIL. Every CPython exports this
// function.
bool holds_gil() noexcept {
  static const auto check = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  return check() != 0;
}

void refuse_gil() {
  refusing_thread = std::this_thread::get_id();
  is_refused = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (takers > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

GilScope::GilScope() {
  if (holds_gil()) {
    // This thread has the GIL: to sleep now would keep it from the thread that ends the
    // interpreter.
    before_ = PyGILState_Ensure();
    return;
  }
  if (PyGILState_GetThisThreadState()) {
    take_gil([&] { before_ = PyGILState_Ensure(); });
    return;
  }
  PyThreadState* state = nullptr;
  {
    // The stable ABI is one for all versions, so the version is that of the running Python.
    std::unique_lock lock(making_state, std::defer_lock);
    if (Py_Version < 0x030D0000) lock.lock();
    state = PyThreadState_New(interpreter);
  }
  take_gil([&] { PyEval_RestoreThread(state); });
  before_ = PyGILState_UNLOCKED;  // the destructor deletes the state, with the GIL
}

GilRelease::~GilRelease() {
  take_gil([&] { PyEval_RestoreThread(state_); });
}

}  // namespace recordpipe::python
