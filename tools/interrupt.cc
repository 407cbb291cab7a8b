#include "tools/interrupt.h"

#include <csignal>

#include <pthread.h>
#include <unistd.h>

namespace recordpipe {
namespace {

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

// A handler could not request a stop, which is not async-signal-safe; a thread that waits can.
Interrupt::Interrupt() {
  std::signal(SIGXFSZ, SIG_IGN);
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
  for (int signal = 0; sigwait(&signals, &signal) == 0 && !ending_;) {
    if (signal_ != 0) ::_exit(exit_code());
    signal_ = signal;
    stop_.request_stop();
  }
}

}  // namespace recordpipe
