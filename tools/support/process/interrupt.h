// Handles a program's signals: turns SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) into a
// stop request. Ignores SIGXFSZ and SIGPIPE, so that a write beyond a file-size limit or to a
// closed pipe fails with an error.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>

#include "dataset/parallel/service_thread.h"

namespace recordpipe {

// Must be constructed first in main, before any other thread: later threads inherit the blocked
// signals. The first signal requests a stop. The process ends at once on a second signal, half a
// second later or more, or if the stop takes longer than `grace` (for example, because of a blocked
// pipe or network disk). Files being written are then left behind, as after SIGKILL. SIGINT and
// SIGHUP stay ignored if they were ignored before (by nohup, or in a background job of a shell). At
// most one instance may exist at a time.
class Interrupt {
 public:
  static constexpr std::chrono::seconds kGrace{5};

  // std::nullopt: no time limit for a stop. Default: 5 s.
  explicit Interrupt(std::optional<std::chrono::seconds> grace = kGrace);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Changes the time limit, for a program whose options set it. A stop that was already requested
  // keeps its limit.
  static void set_grace(std::optional<std::chrono::seconds> grace);

  // While an instance exists, Ctrl-C requests a stop, but does not end the process, however often
  // and however long the stop takes: a child (a pager) is using the terminal.
  class Hold {
   public:
    Hold();
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
  };

  std::stop_token token() const { return stop_.get_token(); }
  // The exit status that a shell reports for the signal: 130 for SIGINT, 143 for SIGTERM, 129 for
  // SIGHUP; 0 if there was no signal.
  int exit_code() const;

 private:
  void wait_for_signals();

  std::stop_source stop_;
  std::atomic<bool> ending_ = false;
  parallel::ServiceThread waiter_;
};

// Returns the received signal, or 0. Intended for polling between two steps of work.
int interrupted();

// Opens standard input, output and error if they are closed (">&-" in a shell). Must be called
// first in main, before any file is opened: otherwise a file would get the free descriptor, and a
// warning would be written to that file. Afterwards, reading a formerly closed standard input and
// writing a formerly closed standard output fail, so that no result is lost silently; output to a
// formerly closed standard error is discarded.
void open_standard_descriptors();

}  // namespace recordpipe
