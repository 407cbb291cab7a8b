#include "python/native/interpreter/interpreter_exit.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <sys/types.h>
#include <unistd.h>

#include "python/native/dataset/dataset_files.h"
#include "python/native/interpreter/gil.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::seconds kMaxWait{5};
constexpr std::chrono::milliseconds kPollInterval{1};

std::atomic<bool> is_ending = false;
std::atomic<std::thread::id> ending_thread;  // may still call functions, in other atexit handlers
std::atomic<int> guards = 0;
std::atomic<pid_t> guarded_process = 0;  // a forked process has no threads of its parent

std::atomic<bool> has_begun = false;

void wait_for_guards() {
  if (guarded_process != getpid()) return;
  begin_exit();
  is_ending = true;
  const nb::gil_scoped_release no_gil;
  const auto end = std::chrono::steady_clock::now() + kMaxWait;
  while (guards > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kPollInterval);
  }
  refuse_gil();
}

}  // namespace

void watch_interpreter_exit() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&wait_for_guards));
}

void begin_exit() {
  ending_thread = std::this_thread::get_id();
  has_begun = true;
}

void stay_if_exit_has_begun() {
  if (!has_begun || ending_thread.load() == std::this_thread::get_id()) return;
  if (works_for_pass()) {  // a thread of a pass, which the end waits for
    throw Error({.kind = ErrorKind::cancelled, .reason = "the interpreter is ending"});
  }
  const nb::gil_scoped_release no_gil;
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

ExitGuard::ExitGuard() {
  if (guarded_process.exchange(getpid()) != getpid()) guards = 0;
  ++guards;
}

ExitGuard::~ExitGuard() { --guards; }

bool ExitGuard::is_over() {
  return is_ending && ending_thread.load() != std::this_thread::get_id();
}

void ExitGuard::park() {
  --guards;
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace recordpipe::python
