#include "tools/interrupt.h"

#include <cerrno>
#include <csignal>
#include <string_view>

#include <pthread.h>
#include <unistd.h>

namespace recordpipe {
namespace {

bool is_ignored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (!is_ignored(SIGHUP)) sigaddset(&signals, SIGHUP);  // as nohup(1) makes it
  return signals;
}

}  // namespace

// A handler could not request a stop, which is not async-signal-safe; a thread that waits can.
Interrupt::Interrupt() {
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

int Interrupt::exit_code() const { return signal_ == 0 ? 0 : 128 + signal_; }

void Interrupt::wait_for_signals() {
  const sigset_t signals = handled_signals();
  int signal = 0;
  if (sigwait(&signals, &signal) != 0 || ending_) return;
  signal_ = signal;
  stop_.request_stop();
  const timespec grace{.tv_sec = kGrace.count(), .tv_nsec = 0};
  while (sigtimedwait(&signals, nullptr, &grace) < 0 && errno == EINTR) {
  }
  if (ending_) return;
  constexpr std::string_view kText = "interrupted\n";
  (void)!::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(exit_code());
}

}  // namespace recordpipe
