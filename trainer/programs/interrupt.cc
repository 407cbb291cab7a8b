#include "trainer/programs/interrupt.h"

#include <csignal>

namespace recordpipe {
namespace {

volatile std::sig_atomic_t caught = 0;

void catch_signal(int signal) { caught = signal; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = catch_signal;
  // SA_RESETHAND: who signals twice doesn't want to wait.
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

int interrupted() { return caught; }

}  // namespace recordpipe
