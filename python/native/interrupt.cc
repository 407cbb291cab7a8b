#include "python/native/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recordpipe/internal/fork.h"

namespace recordpipe::python {
namespace {

struct sigaction previous;  // Python's; set while handle() is installed
sem_t interrupts;           // sem_post() is safe in a signal handler; condition variables are not
std::mutex mutex;
std::function<void()> stop_wait;     // of the current scope
std::atomic<bool> has_come = false;  // SIGINT, in the current scope
std::exception_ptr raised;           // kept in the current or the last scope
bool is_watching = false;            // the thread that waits for interrupts exists

void handle(int signal) {
  previous.sa_handler(signal);
  has_come = true;
  sem_post(&interrupts);
}

void watch() {
  // Not inherited from the main thread: while that blocks a signal, Linux delivers it to any other
  // thread, where Python's own handler may still run when `handle` is installed. Nobody would
  // notice such an interrupt.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while (true) {
    while (sem_wait(&interrupts) != 0) continue;
    const std::lock_guard lock(mutex);
    if (stop_wait) std::exchange(stop_wait, nullptr)();
  }
}

// In a child made by fork(), nothing waits yet.
const internal::AfterFork renewal([] {
  internal::renew(mutex);
  internal::renew_without_destruction(stop_wait);
  is_watching = false;
  struct sigaction action;
  sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == handle) sigaction(SIGINT, &previous, nullptr);
});

// Starts the thread that calls stop_wait().
void start_watching() {
  if (is_watching) return;
  sem_init(&interrupts, 0, 0);
  std::thread(watch).detach();
  is_watching = true;
}

}  // namespace

InterruptScope::InterruptScope(std::function<void()> stop) {
  if (getpid() != syscall(SYS_gettid)) return;
  struct sigaction action;
  sigaction(SIGINT, nullptr, &action);
  // handle: this is a call from a function that an outer scope waits for.
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler == SIG_DFL ||
      action.sa_handler == SIG_IGN || action.sa_handler == handle) {
    return;
  }
  start_watching();
  {
    const std::lock_guard lock(mutex);
    stop_wait = std::move(stop);
  }
  has_come = false;
  raised = nullptr;
  previous = action;
  action.sa_handler = handle;
  sigaction(SIGINT, &action, nullptr);
  is_active_ = true;
}

InterruptScope::~InterruptScope() {
  if (!is_active_) return;
  sigaction(SIGINT, &previous, nullptr);
  const std::lock_guard lock(mutex);
  stop_wait = nullptr;
}

bool keep_if_raised_by_interrupt(const std::exception_ptr& exception) {
  if (!has_come || getpid() != syscall(SYS_gettid)) return false;
  if (!raised) raised = exception;
  const GilRelease no_gil;
  while (true) {
    const std::lock_guard lock(mutex);  // held while stop_wait() runs
    if (!stop_wait) return true;
    std::this_thread::yield();
  }
}

std::exception_ptr take_raised_by_interrupt() { return std::exchange(raised, nullptr); }

}  // namespace recordpipe::python
