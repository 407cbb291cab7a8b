#include "trainer/programs/training_log.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "trainer/programs/log.h"

namespace recordpipe {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_between(SteadyClock::time_point from, SteadyClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Whether standard error is a terminal that supports the status line's control sequences.
bool is_terminal() {
  const char* type = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (type == nullptr || std::string_view(type) != "dumb");
}

}  // namespace

void TrainingLog::Window::add(const StepResult& result, double step_seconds, double step_waited) {
  seconds += step_seconds;
  waited += step_waited;
  loss += result.batch.loss;
  ++steps;
  images += result.batch.images;
  correct += result.batch.correct;
}

TrainingLog::TrainingLog(const Trainer& trainer, const TrainingLogOptions& options)
    : trainer_(trainer),
      options_(options),
      terminal_(is_terminal()),
      suffix_(options.synthetic ? ", synthetic data" : ""),
      last_step_time_(SteadyClock::now()) {}

TrainingLog::~TrainingLog() {
  if (status_shown_) std::fputc('\n', stderr);
}

void TrainingLog::step(const StepResult& result, double waited) {
  const SteadyClock::time_point now = SteadyClock::now();
  const double seconds = seconds_between(last_step_time_, now);
  last_step_time_ = now;
  total_.add(result, seconds, waited);
  recent_.add(result, seconds, waited);

  const bool last = result.step == options_.last_step;
  const bool due = result.step % options_.log_frequency == 0 || last;
  if (terminal_) {
    if (last || seconds_between(last_status_time_, now) > 0.2) {
      write_status(result);
      last_status_time_ = now;
    }
  } else if (due) {
    write_lines(result);
  }
  if (due) recent_ = {};
}

void TrainingLog::note(const std::string& text) {
  if (status_shown_) std::fputs("\r\x1b[K", stderr);
  status_shown_ = false;
  log_info("{}", text);
}

// The mean since the last log line, with the penalty of weight decay, as in the tutorial.
double TrainingLog::recent_loss() const {
  return trainer_.total_loss({.loss = recent_.mean_loss()});
}

void TrainingLog::write_lines(const StepResult& result) {
  if (options_.words == LogWords::tutorial) {
    log_info("step {}, loss = {:.2f} ({:.1f} examples/sec; {:.3f} sec/batch){}", result.step,
             recent_loss(), recent_.images_per_second(),
             recent_.seconds / static_cast<double>(recent_.steps), suffix_);
    return;
  }
  log_info("learning_rate = {:.6g}, loss = {:.4f}, accuracy = {:.4f} ({:.3f} sec){}",
           result.learning_rate, recent_loss(), recent_.accuracy(), recent_.seconds, suffix_);
  log_info("Average examples/sec: {:.1f} ({:.1f}), step = {} of {}, input wait {:.1f}%, {} left{}",
           total_.images_per_second(), recent_.images_per_second(), result.step, options_.last_step,
           recent_.wait_percent(), time_left(result.step), suffix_);
}

void TrainingLog::write_status(const StepResult& result) {
  const std::string status = fmt::format(
      "step {}/{}  loss {:.3f}  accuracy {:.1f}%  lr {:.4f}  {:.0f} images/s  input wait {:.1f}%  "
      "{} left{}",
      result.step, options_.last_step, recent_loss(), 100 * recent_.accuracy(),
      result.learning_rate, total_.images_per_second(), total_.wait_percent(),
      time_left(result.step), suffix_);
  // Without line wrap, a narrow terminal shows the beginning of the status in a single line.
  std::fprintf(stderr, "\r\x1b[?7l%s\x1b[K\x1b[?7h", status.c_str());
  std::fflush(stderr);
  status_shown_ = true;
}

// "4:32"
std::string TrainingLog::time_left(uint64_t step) const {
  const double per_step = total_.seconds / static_cast<double>(total_.steps);
  const auto left =
      static_cast<uint64_t>(per_step * static_cast<double>(options_.last_step - step));
  if (left >= 3600) return fmt::format("{}:{:02}:{:02}", left / 3600, left / 60 % 60, left % 60);
  return fmt::format("{}:{:02}", left / 60, left % 60);
}

}  // namespace recordpipe
