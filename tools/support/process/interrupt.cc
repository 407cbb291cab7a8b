#include "tools/support/process/interrupt.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace recordpipe {
namespace {

std::atomic<int> caught = 0;
std::atomic<int> holds = 0;              // Interrupt::Hold
std::atomic<int64_t> grace_seconds = 0;  // 0: no limit

// Signals in this time after the first one repeat it: timeout(1), job schedulers and shells signal
// a process and then its whole process group.
constexpr std::chrono::milliseconds kSameRequest{500};

bool is_ignored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  for (const int signal : {SIGINT, SIGHUP})
    if (!is_ignored(signal)) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

// A thread waits for the signals, because request_stop() is not async-signal-safe.
Interrupt::Interrupt(std::optional<std::chrono::seconds> grace) {
  set_grace(grace);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = handled_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  waiter_ =
      parallel::ServiceThread("rp-signals", [this](const std::stop_token&) { wait_for_signals(); });
}

Interrupt::~Interrupt() {
  ending_ = true;
  pthread_kill(waiter_.native_handle(), SIGTERM);
  waiter_.join();
}

void Interrupt::set_grace(std::optional<std::chrono::seconds> grace) {
  grace_seconds = grace ? grace->count() : 0;
}

Interrupt::Hold::Hold() { ++holds; }
Interrupt::Hold::~Hold() { --holds; }

int Interrupt::exit_code() const { return interrupted() == 0 ? 0 : 128 + interrupted(); }

void Interrupt::wait_for_signals() {
  const sigset_t signals = handled_signals();
  int signal = 0;
  if (sigwait(&signals, &signal) != 0 || ending_) return;
  caught = signal;
  const timespec grace{.tv_sec = grace_seconds, .tv_nsec = 0};
  const auto first = std::chrono::steady_clock::now();
  stop_.request_stop();
  do {
    if (grace.tv_sec > 0) {
      while (sigtimedwait(&signals, nullptr, &grace) < 0 && errno == EINTR) {
      }
    } else {
      sigwait(&signals, &signal);
    }
    if (ending_) return;
  } while (std::chrono::steady_clock::now() - first < kSameRequest ||
           (caught == SIGINT && holds > 0));
  constexpr std::string_view kText = "interrupted\n";
  (void)!::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(exit_code());
}

int interrupted() { return caught; }

namespace {

bool is_closed(int fd) { return ::fcntl(fd, F_GETFD) == -1 && errno == EBADF; }

}  // namespace

// The order matters, because open(2) returns the lowest free descriptor.
void open_standard_descriptors() {
  if (is_closed(STDIN_FILENO)) ::open("/dev/null", O_WRONLY);   // can't be read: EBADF
  if (is_closed(STDOUT_FILENO)) ::open("/dev/null", O_RDONLY);  // can't be written
  if (is_closed(STDERR_FILENO)) ::open("/dev/null", O_WRONLY);
}

}  // namespace recordpipe
