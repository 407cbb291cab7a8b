// The output of a training program during training: log lines in the tutorial's format, or a single
// status line if the terminal supports it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

// The format of the log lines.
enum class LogWords {
  resnet,    // as the ResNet tutorial's hooks: "learning_rate = R, loss = L, ...", "Average
             // examples/sec"
  tutorial,  // cifar10_train's: "step N, loss = L (E examples/sec; S sec/batch)"
};

struct TrainingLogOptions {
  uint64_t last_step = 0;
  uint64_t log_frequency = 100;  // steps between lines
  LogWords words = LogWords::resnet;
  bool synthetic = false;  // synthetic data: mentioned with every figure
};

class TrainingLog {
 public:
  // `trainer` must outlive it.
  TrainingLog(const Trainer& trainer, const TrainingLogOptions& options);
  ~TrainingLog();  // ends the status line

  // Must be called after each step. `waited` is the time in seconds that it waited for its batch.
  void step(const StepResult& result, double waited);
  // A separate line, above the status line.
  void note(const std::string& text);

  // Excludes the time since the last step from speeds, for example that of an evaluation.
  void skip_time() { last_step_time_ = std::chrono::steady_clock::now(); }

 private:
  // Sums since the last line, or since the start.
  struct Window {
    double seconds = 0, waited = 0, loss = 0;
    uint64_t steps = 0;
    size_t images = 0, correct = 0;

    void add(const StepResult& result, double step_seconds, double step_waited);
    double images_per_second() const { return static_cast<double>(images) / seconds; }
    double accuracy() const { return static_cast<double>(correct) / static_cast<double>(images); }
    double mean_loss() const { return loss / static_cast<double>(steps); }
    double wait_percent() const { return 100 * waited / seconds; }
  };

  void write_lines(const StepResult& result);
  void write_status(const StepResult& result);
  double recent_loss() const;
  std::string time_left(uint64_t step) const;

  const Trainer& trainer_;
  const TrainingLogOptions options_;
  const bool terminal_;
  const std::string suffix_;  // ", synthetic data"
  std::chrono::steady_clock::time_point last_step_time_;
  std::chrono::steady_clock::time_point last_status_time_;
  Window total_, recent_;
  bool status_shown_ = false;
};

}  // namespace recordpipe
