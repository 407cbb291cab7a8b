#include "python/native/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recordpipe/internal/fork.h"
#include "recordpipe/internal/fork_block.h"

namespace recordpipe::python {
namespace {

// Ctrl-C, and what programs use to end or to report on a wait. (One of Python's own handlers may be
// behind any signal, but each costs a system call per wait.)
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGALRM, SIGHUP, SIGUSR1, SIGUSR2};

struct sigaction previous[NSIG];  // Python's; set where handle() is installed
sem_t interrupts;  // sem_post() is safe in a signal handler; condition variables are not
std::mutex mutex;
std::function<void()> stop_wait;     // of the current scope
std::atomic<bool> has_come = false;  // a signal, in the current scope
std::exception_ptr raised;           // kept in the current or the last scope
bool in_scope = false;               // used by the main thread only
bool is_watching = false;            // the thread that waits for interrupts exists

void handle(int signal) {
  previous[signal].sa_handler(signal);
  has_come = true;
  sem_post(&interrupts);
}

void watch() {
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
  is_watching = in_scope = false;
  for (const int signal : kSignals) {
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == handle) sigaction(signal, &previous[signal], nullptr);
  }
});

// handle() stays installed from the first scope on, also between scopes. While the main thread
// blocks signals (pthread_create() does), Linux delivers a signal to any other thread, where
// Python's own handler could set its flag just after a scope has begun and the main thread has read
// the flag: nobody would notice the interrupt.
void install(int signal, struct sigaction action) {
  if (!is_watching) {
    sem_init(&interrupts, 0, 0);
    const internal::ForkBlock no_fork;
    std::thread(watch).detach();
    is_watching = true;
  }
  if (action.sa_handler != handle) {
    previous[signal] = action;
    action.sa_handler = handle;
    sigaction(signal, &action, nullptr);
  }
}

// Whether the signal runs a function, such as Python's handler, that takes a number only.
bool runs_a_function(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler != SIG_DFL &&
         action.sa_handler != SIG_IGN;
}

}  // namespace

InterruptScope::InterruptScope(std::function<void()> stop) {
  // in_scope: this is a call from a function that an outer scope waits for.
  if (getpid() != syscall(SYS_gettid) || in_scope) return;
  bool any = false;
  for (const int signal : kSignals) {
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    if (!runs_a_function(action)) continue;
    install(signal, action);
    any = true;
  }
  if (!any) return;
  has_come = false;
  raised = nullptr;
  is_active_ = in_scope = true;
  const std::lock_guard lock(mutex);
  stop_wait = std::move(stop);
}

InterruptScope::~InterruptScope() {
  if (!is_active_) return;
  in_scope = false;
  const std::lock_guard lock(mutex);
  stop_wait = nullptr;
}

bool keep_if_raised_by_interrupt(const std::exception_ptr& exception) {
  if (getpid() != syscall(SYS_gettid) || !in_scope || !has_come) return false;
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
