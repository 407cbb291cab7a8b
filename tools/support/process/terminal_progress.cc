#include "tools/support/process/terminal_progress.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dataset/base/one_line.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxBarWidth = 24;

size_t terminal_width() {
  struct winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string megabytes(double bytes) { return fmt::format("{:.1f}", bytes / 1e6); }

// Returns a bar that fits into the terminal's line beside `taken` columns of text.
std::string bar(double fraction, size_t taken) {
  const size_t frame = std::string_view("[] ").size();
  const size_t room = terminal_width() - 1;
  const size_t width = std::min(kMaxBarWidth, room - std::min(room, taken + frame));
  const auto filled = static_cast<size_t>(fraction * static_cast<double>(width));
  return fmt::format("[{:#<{}}{:.<{}}] ", "", filled, "", width - filled);
}

}  // namespace

TerminalProgress::TerminalProgress(bool quiet, bool lines)
    : quiet_(quiet), terminal_(!quiet && ::isatty(STDERR_FILENO) != 0), lines_(lines) {}

TerminalProgress::~TerminalProgress() { clear(); }

void TerminalProgress::begin(std::string_view activity) {
  const std::lock_guard lock(mutex_);
  begin_locked(activity, 0);
}

void TerminalProgress::hide() {
  const std::lock_guard lock(mutex_);
  erase();
  hidden_ = true;
}

void TerminalProgress::update(const Progress& progress) {
  if (!draws()) return;
  const std::lock_guard lock(mutex_);
  if (hidden_) return;
  if (activity_ != progress.activity) begin_locked(progress.activity, progress.done);
  if (progress.done == 0 && !progress.total) return;  // neither data nor a size yet
  const auto now = std::chrono::steady_clock::now();
  const bool ended = progress.total && progress.done >= *progress.total;
  if (terminal_) {
    if (now - start_ < kBarDelay) return;
    if (!(drawn_ && ended) && now - last_ < kBarInterval) return;
  } else if (now - last_ < kLineInterval) {
    return;
  }
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double speed = static_cast<double>(progress.done - std::min(first_done_, progress.done)) /
                       std::max(seconds, 1e-3);
  const auto done = static_cast<double>(progress.done);
  const std::string what = activity_ + ": ";
  if (progress.total && *progress.total > 0) {
    const auto total = static_cast<double>(*progress.total);
    const double fraction = std::min(done / total, 1.0);
    std::string text = fmt::format("{:3.0f}% of {} MB", 100 * fraction, megabytes(total));
    text += fmt::format(", {} MB/s", megabytes(speed));
    if (!ended && speed > 0) text += fmt::format(", {:.0f} s left", (total - done) / speed);
    draw(what + (terminal_ ? bar(fraction, what.size() + text.size()) : "") + text);
  } else {
    draw(what + fmt::format("{} MB, {} MB/s", megabytes(done), megabytes(speed)));
  }
}

void TerminalProgress::note(const std::string& text) {
  if (!quiet_) warn(text);
}

void TerminalProgress::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  erase();
  std::fprintf(stderr, "%s\n", one_line(text).c_str());
}

void TerminalProgress::clear() {
  const std::lock_guard lock(mutex_);
  erase();
}

void TerminalProgress::begin_locked(std::string_view activity, uint64_t done) {
  erase();
  activity_ = activity;
  start_ = last_ = std::chrono::steady_clock::now();
  first_done_ = done;
}

void TerminalProgress::draw(const std::string& text) {
  if (terminal_) {
    std::fprintf(stderr, "\r\x1b[K%s", text.substr(0, terminal_width() - 1).c_str());
    drawn_ = true;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  std::fflush(stderr);
}

void TerminalProgress::erase() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace recordpipe
