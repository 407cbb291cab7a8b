// SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) as a stop request, so that a program ends
// in order; and no death by SIGXFSZ and SIGPIPE, so that a write past a file-size limit, or into a
// pipe that nobody reads, fails like any other.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

namespace recordpipe {

// Make it first in main, before any other thread: those started later leave these signals to it.
// The first signal requests a stop. A second one ends the process at once, and so does a stop that
// takes longer than `grace`, because a pipe or a network disk is waited for: what was being written
// stays behind then, as after a SIGKILL. SIGINT and SIGHUP stay ignored where they are, as by nohup
// or by a shell that starts a program in the background. There can be one at a time.
class Interrupt {
 public:
  static constexpr std::chrono::seconds kGrace{5};

  // Without `grace` a stop takes as long as it takes.
  explicit Interrupt(std::optional<std::chrono::seconds> grace = kGrace);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  // What a shell expects of a program that such a signal ended: 130 for SIGINT, 143 for SIGTERM,
  // 129 for SIGHUP. 0 where there was none.
  int exit_code() const;

 private:
  void wait_for_signals();

  const std::optional<std::chrono::seconds> grace_;
  std::stop_source stop_;
  std::atomic<bool> ending_ = false;
  std::thread waiter_;
};

// The signal that came, or 0: for who only wants to look, between two steps of its work.
int interrupted();

}  // namespace recordpipe
