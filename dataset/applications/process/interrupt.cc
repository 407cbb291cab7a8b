#include "dataset/applications/process/interrupt.h"

#include <cerrno>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace recordpipe {
namespace {

std::atomic<int> caught = 0;

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
Interrupt::Interrupt(std::optional<std::chrono::seconds> grace) : grace_(grace) {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = handled_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  waiter_ = std::thread([this] { wait_for_signals(); });
}

Interrupt::~Interrupt() {
  ending_ = true;
  pthread_kill(waiter_.native_handle(), SIGTERM);
  waiter_.join();
}

int Interrupt::exit_code() const { return interrupted() == 0 ? 0 : 128 + interrupted(); }

void Interrupt::wait_for_signals() {
  const sigset_t signals = handled_signals();
  int signal = 0;
  if (sigwait(&signals, &signal) != 0 || ending_) return;
  caught = signal;
  stop_.request_stop();
  if (grace_) {
    const timespec grace{.tv_sec = grace_->count(), .tv_nsec = 0};
    while (sigtimedwait(&signals, nullptr, &grace) < 0 && errno == EINTR) {
    }
  } else {
    sigwait(&signals, &signal);
  }
  if (ending_) return;
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
