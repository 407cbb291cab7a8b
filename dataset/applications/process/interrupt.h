// Signal handling of programs: SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) become a
// stop request. SIGXFSZ and SIGPIPE are ignored, so that a write beyond a file-size limit or to a
// closed pipe fails with an error.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

namespace recordpipe {

// Must be constructed first in main, before any other thread: later threads inherit the blocked
// signals. The first signal requests a stop. A second signal ends the process at once, and so does
// a stop that takes longer than `grace` (because of a blocked pipe or network disk); files being
// written are then left behind, as after SIGKILL. SIGINT and SIGHUP stay ignored if they were
// (nohup, or a background job of a shell). At most one instance at a time.
class Interrupt {
 public:
  static constexpr std::chrono::seconds kGrace{5};

  // std::nullopt: no time limit for a stop. Default: 5 s.
  explicit Interrupt(std::optional<std::chrono::seconds> grace = kGrace);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  // The shell's exit status for the signal: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP; 0 if
  // there was no signal.
  int exit_code() const;

 private:
  void wait_for_signals();

  const std::optional<std::chrono::seconds> grace_;
  std::stop_source stop_;
  std::atomic<bool> ending_ = false;
  std::thread waiter_;
};

// The received signal, or 0. For polling between two steps of work.
int interrupted();

// Replacement of closed standard descriptors (">&-" in a shell).
// Opens the closed ones of standard input, output and error. Must be called first in main, before
// any file is opened: a file would get the free descriptor, and a warning would be written to it.
// Afterwards, reading a formerly closed standard input and writing a formerly closed standard
// output fail, so that no result is lost silently; output to a formerly closed standard error is
// discarded.
void open_standard_descriptors();

}  // namespace recordpipe
