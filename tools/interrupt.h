// SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal, unless nohup keeps it away) as a stop
// request, so that a program ends in order; and no death by SIGXFSZ and SIGPIPE, so that a write
// past a file-size limit, or into a pipe that nobody reads, fails like any other.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace recordpipe {

// Make it first in main, before any other thread: those started later leave these signals to it.
// The first signal requests a stop. A second one ends the process at once, and so does a stop that
// takes too long, because a pipe or a network disk is waited for: what was being written stays
// behind then, as after a SIGKILL.
class Interrupt {
 public:
  static constexpr std::chrono::seconds kGrace{5};

  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  // What a shell expects of a program that such a signal ended: 130 for SIGINT, 143 for SIGTERM,
  // 129 for SIGHUP. 0 where there was none.
  int exit_code() const;

 private:
  void wait_for_signals();

  std::stop_source stop_;
  std::atomic<int> signal_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread waiter_;
};

}  // namespace recordpipe
