// Displays a program's progress: as a bar on a terminal, otherwise as plain lines (optional).
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "recordpipe/base/progress.h"

namespace recordpipe {

// Draws to standard error; failures to write are ignored. Thread-safe.
class TerminalProgress {
 public:
  // The delay before the first bar, the interval between updates of the bar, and the interval
  // between plain lines. An activity that ends earlier displays nothing.
  static constexpr std::chrono::milliseconds kBarDelay{1000};
  static constexpr std::chrono::milliseconds kBarInterval{100};
  static constexpr std::chrono::seconds kLineInterval{5};

  // `quiet`: draw nothing. `lines` (default: true): print plain lines if standard error is not a
  // terminal.
  explicit TerminalProgress(bool quiet, bool lines = true);
  ~TerminalProgress();
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;

  // Whether update() may draw anything.
  bool draws() const { return terminal_ || (lines_ && !quiet_); }
  // Begins an activity, even if it has the name of the previous activity. (An activity with a new
  // name begins implicitly with its first update().)
  void begin(std::string_view activity);
  void update(const Progress& progress);
  // Erases the bar and ignores later updates, because results go to the same terminal.
  void hide();
  // Prints a line without disturbing the bar; control characters are written as \xNN. No-op if
  // quiet.
  void note(const std::string& text);
  // Like note(), but prints the line even if quiet.
  void warn(const std::string& text);
  // Erases the bar, so that other output can be printed.
  void clear();

 private:
  void begin_locked(std::string_view activity, uint64_t done);
  void draw(const std::string& text);
  void erase();

  const bool quiet_;
  const bool terminal_;
  const bool lines_;
  std::mutex mutex_;
  std::string activity_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;  // time of the last draw(), or of the beginning
  uint64_t first_done_ = 0;  // bytes done when the activity began (not 0 if a download is resumed)
  bool drawn_ = false;       // a bar is visible
  bool hidden_ = false;
};

}  // namespace recordpipe
