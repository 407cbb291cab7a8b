#include "python/native/interpreter/gil.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <type_traits>

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#ifdef Py_LIMITED_API
// Not in the limited API, but every CPython exports it, and the limited API has nothing that tells
// whether a thread has the GIL.
extern "C" int PyGILState_Check();
#endif

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
auto take_gil(const Take& take) {
  ++takers;
  if (is_refused && refusing_thread.load() != std::this_thread::get_id()) {
    --takers;
    while (true) pause();
  }
  try {
    if constexpr (std::is_void_v<decltype(take())>) {
      take();
      --takers;
    } else {
      const auto taken = take();
      --takers;
      return taken;
    }
  } catch (const abi::__forced_unwind&) {
    while (true) pause();
  }
}

// Python 3.11 to 3.13 end a thread by the unwinder of libgcc_s.so, which then calls functions of
// the unwinder that is linked to this library. In a wheel that is a copy of its own, whose table of
// registers is made when it throws for the first time; without it, the process is aborted.
void prepare_unwinder() {
  try {
    throw 0;
  } catch (int) {
    return;
  }
}

}  // namespace

bool is_main_interpreter() noexcept {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError,
                  "recordpipe doesn't work in sub-interpreters: use it in the main interpreter "
                  "(mod_wsgi: WSGIApplicationGroup %{GLOBAL}), or in a process of its own");
  return false;
}

void define_gil() {
  interpreter = PyInterpreterState_Get();
  prepare_unwinder();
}

bool holds_gil() noexcept { return PyGILState_Check() != 0; }

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
    before_ = take_gil([] { return PyGILState_Ensure(); });
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
