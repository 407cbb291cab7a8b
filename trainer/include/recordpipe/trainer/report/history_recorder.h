// Collects the data of a run's report during the run, and stores it in a file beside the
// checkpoints. The report of a run that was stopped, killed and resumed therefore covers the whole
// run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "recordpipe/io/file.h"
#include "recordpipe/trainer/report/run_report.h"
#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

struct HistoryRecorderOptions {
  uint64_t window = 10;  // steps per point; at least 1
};

class HistoryRecorder {
 public:
  // Stores the history at `path` ("JOB_DIR/report-history.jsonl"; format: history_lines.h). An
  // empty path: in memory only.
  HistoryRecorder(FileSystem& file_system, std::string path,
                  const HistoryRecorderOptions& options = {});

  // Must be called before the first step and after each restore, with the number of steps of the
  // restored variables. Reads the history up to `step` from the file, if there is one; later points
  // are dropped, because their steps will be made again. Throws the errors of reading and writing
  // the file.
  void start(uint64_t step);

  // Adds a completed step. A point ends at each multiple of the window; a step whose loss is not
  // finite is a point of its own. `seconds`: since the step before; `input_wait_seconds` of them
  // were spent waiting for the batch. Throws the errors of writing the file.
  void add(const StepResult& result, double seconds, double input_wait_seconds);
  // Adds an evaluation on images that are not trained on.
  void add_validation(uint64_t step, const BatchResult& result);
  // Ends the current incomplete point.
  void finish();

  const RunHistory& history() const { return history_; }

 private:
  void keep(const std::string& line);

  FileSystem& file_system_;
  const std::string path_;
  const HistoryRecorderOptions options_;
  RunHistory history_;
  TrainingPoint window_;  // the loss is a sum
  std::unique_ptr<OutputFile> file_;
};

}  // namespace recordpipe
