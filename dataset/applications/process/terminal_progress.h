// What long work tells its user: a bar that is redrawn on a terminal; elsewhere a plain line now
// and then, where that is wanted.
#pragma once

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "recordpipe/progress.h"

namespace recordpipe {

// Draws to standard error; where that can't be written, what is told is lost and the work goes on.
// The functions may be called from several threads.
class TerminalProgress {
 public:
  // A bar comes after the first, and is drawn again after the second; plain lines come at the
  // third: nothing of work that is done sooner.
  static constexpr std::chrono::milliseconds kBarDelay{1000};
  static constexpr std::chrono::milliseconds kBarInterval{100};
  static constexpr std::chrono::seconds kLineInterval{5};

  // Quiet: draws nothing. `lines`: whether there are plain lines where there is no terminal.
  explicit TerminalProgress(bool quiet, bool lines = true);
  ~TerminalProgress();
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;

  // Whether update() draws anything here.
  bool draws() const { return terminal_ || (lines_ && !quiet_); }
  // Work begins, from its first byte, also if it is called as the work before was. (Work of another
  // name begins with its first update().)
  void begin(std::string_view activity);
  void update(const Progress& progress);
  // Draws no bar from now on: results come to the terminal, which a bar would tear.
  void hide();
  // A line of text, which doesn't tear the bar; control characters in it, of files' names say, are
  // written \xNN. Nothing where quiet.
  void note(const std::string& text);
  // The same, for what must be known: quiet or not.
  void warn(const std::string& text);
  // Takes the bar away, so that something else can be printed.
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
  std::chrono::steady_clock::time_point last_;  // when something was drawn
  uint64_t first_done_ = 0;  // what was there when the work began: a resumed download
  bool drawn_ = false;       // a bar is on the screen
  bool hidden_ = false;
};

}  // namespace recordpipe
