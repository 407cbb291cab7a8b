#include "python/native/interpreter/interrupt.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dataset/parallel/service_thread.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/base/internal/work_owner.h"

namespace recordpipe::python {
namespace {

// Ctrl-C, and what programs use to end or to report on a wait. (One of Python's own handlers may be
// behind any signal, but each costs a system call per wait.)
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGALRM, SIGHUP, SIGUSR1, SIGUSR2};

// What the handlers of kHandlers replaced, such as Python's handler; sa_handler is null if nothing.
// Each of them calls the same one for ever: a program may put a handler of its own in front of ours
// that passes the signal on to it (faulthandler's chain=True). The next scope puts another one of
// ours in front of that. A single one would call the program's and be called by it, for ever.
constexpr size_t kLevels = 8;
struct sigaction replaced[kLevels][NSIG];

// A pipe: signal handlers may write to it, but may not use a condition variable.
int interrupts = -1;      // the end that is read
int note_interrupt = -1;  // the other one; does not block
std::mutex mutex;
std::function<void()> stop_wait;     // of the current scope
std::atomic<int> arriving = 0;       // handlers that are running
std::atomic<bool> has_come = false;  // a signal, in the current scope
// The rest is used by the main thread only.
std::exception_ptr kept_exception;  // kept in the current or the last scope
bool in_scope = false;
const internal::WorkOwner* waits_for = nullptr;  // what the main thread works for, in a scope
bool is_watching = false;                        // the thread that waits for interrupts exists

void wake_watcher() {
  const int saved_errno = errno;
  [[maybe_unused]] const auto written = write(note_interrupt, "", 1);  // a full pipe wakes it, too
  errno = saved_errno;
}

template <size_t level>
void handle(int signal) {
  // Another thread may be the one that the signal interrupts. Then the main thread may run the
  // handler in Python, and ask whether a signal has come, at any time after the call.
  ++arriving;
  replaced[level][signal].sa_handler(signal);
  has_come = true;
  wake_watcher();
  --arriving;
}

using Handler = void (*)(int);
constexpr std::array<Handler, kLevels> kHandlers =
    []<size_t... level>(std::index_sequence<level...>) {
  return std::array<Handler, kLevels>{&handle<level>...};
}
(std::make_index_sequence<kLevels>());

// The one of kHandlers, or kLevels.
size_t level_of(Handler handler) {
  size_t level = 0;
  while (level < kLevels && kHandlers[level] != handler) ++level;
  return level;
}

// The one of kHandlers that calls `handler`, else the first one that calls nothing, else kLevels.
size_t level_that_calls(Handler handler, int signal) {
  size_t level = 0;
  while (level < kLevels && replaced[level][signal].sa_handler != handler &&
         replaced[level][signal].sa_handler) {
    ++level;
  }
  return level;
}

void watch() {
  char bytes[64];
  while (true) {
    if (read(interrupts, bytes, sizeof(bytes)) <= 0) continue;
    const std::lock_guard lock(mutex);
    if (stop_wait) std::exchange(stop_wait, nullptr)();
  }
}

// Returns errno, or 0. A new pipe takes over the numbers of the one before: Python may know one.
int open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  for (const auto& [opened, kept] :
       {std::pair(ends[0], &interrupts), std::pair(ends[1], &note_interrupt)}) {
    if (*kept == -1) {
      *kept = opened;
    } else {
      dup3(opened, *kept, O_CLOEXEC);
      close(opened);
    }
  }
  return 0;
}

// In a child made by fork(), nothing waits yet.
const internal::AfterFork renewal([] {
  internal::renew(mutex);
  internal::renew_without_destruction(stop_wait);
  is_watching = in_scope = false;
  arriving = 0;
  if (interrupts != -1 && open_pipe() != 0) {  // not the parent's, in any case
    close(std::exchange(interrupts, -1));
    close(std::exchange(note_interrupt, -1));
  }
  for (const int signal : kSignals) {
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    const size_t level = level_of(action.sa_handler);
    if (level < kLevels) sigaction(signal, &replaced[level][signal], nullptr);
  }
});

// Our handler stays installed from the first scope on, also between scopes. While the main thread
// blocks signals (pthread_create() does), Linux delivers a signal to any other thread, where
// Python's own handler could set its flag just after a scope has begun and the main thread has read
// the flag: nobody would notice the interrupt.
// Returns whether it is new there.
bool install(int signal, struct sigaction action) {
  if (!is_watching) {
    const int error = interrupts == -1 ? open_pipe() : 0;
    if (error != 0) throw system_error(error, "make a pipe for interrupts", {});
    parallel::ServiceThread::start_detached("rp-interrupt", watch);
    is_watching = true;
  }
  if (level_of(action.sa_handler) < kLevels) return false;
  const size_t level = level_that_calls(action.sa_handler, signal);
  if (level == kLevels) return false;  // after so many different handlers, the wait goes on
  replaced[level][signal] = action;
  action.sa_handler = kHandlers[level];
  sigaction(signal, &action, nullptr);
  return true;
}

// Python writes a byte to `fd` for each signal; -1: to none. Returns the one before, or nothing
// where Python refuses.
std::optional<int> set_wakeup_fd(int fd) {
  const GilScope gil;
  try {
    namespace nb = nanobind;
    return nb::cast<int>(nb::module_::import_("signal").attr("set_wakeup_fd")(
        fd, nb::arg("warn_on_full_buffer") = false));
  } catch (nanobind::python_error&) {  // this is not the main thread for Python
    return std::nullopt;
  }
}

// Whether the signal runs a function, such as Python's handler, that takes a number only.
bool runs_a_function(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler != SIG_DFL &&
         action.sa_handler != SIG_IGN;
}

}  // namespace

bool on_main_thread() {
  // Asked in each wait: two system calls for each thread and process.
  thread_local bool is_main;
  thread_local std::optional<internal::MakerProcess> asked_in;
  if (!asked_in || !asked_in->is_this()) {
    asked_in.emplace();
    is_main = getpid() == syscall(SYS_gettid);
  }
  return is_main;
}

InterruptScope::InterruptScope(std::function<void()> stop) {
  // in_scope: this is a call from a function that an outer scope waits for.
  if (!on_main_thread() || in_scope) return;
  bool any = false;
  bool any_new = false;
  for (const int signal : kSignals) {
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    if (!runs_a_function(action)) continue;
    any_new |= install(signal, action);
    any = true;
  }
  if (!any) return;
  has_come = false;
  kept_exception = nullptr;
  waits_for = internal::work_owner.get();
  is_active_ = in_scope = true;
  {
    const std::lock_guard lock(mutex);
    stop_wait = std::move(stop);
  }
  // The system may have called Python's own handler on another thread just before ours was put in
  // front of it, and that handler may set its flag only after the caller has looked at the flag.
  // So Python itself wakes the watcher in this scope, unless it wakes somebody else (asyncio).
  if (any_new) {
    const std::optional<int> before = set_wakeup_fd(note_interrupt);
    tells_watcher_ = before == -1;
    if (before && !tells_watcher_) set_wakeup_fd(*before);
  }
}

InterruptScope::~InterruptScope() {
  if (!is_active_) return;
  if (tells_watcher_) {
    const std::optional<int> last = set_wakeup_fd(-1);
    if (last && *last != note_interrupt) set_wakeup_fd(*last);  // a function has set it meanwhile
  }
  in_scope = false;
  const std::lock_guard lock(mutex);
  stop_wait = nullptr;
}

bool keep_if_raised_by_interrupt(const std::exception_ptr& exception) {
  if (!on_main_thread() || !in_scope || waits_for != internal::work_owner.get()) return false;
  if (arriving == 0 && !has_come) return false;
  if (!kept_exception) kept_exception = exception;
  // A signal that came just before the scope may have been used up by the scope before.
  wake_watcher();
  const GilRelease no_gil;
  while (true) {
    const std::lock_guard lock(mutex);  // held while stop_wait() runs
    if (!stop_wait) return true;
    std::this_thread::yield();
  }
}

void raise_interrupt() {
  if (!on_main_thread()) return;
  if (kept_exception) std::rethrow_exception(std::exchange(kept_exception, nullptr));
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace recordpipe::python
