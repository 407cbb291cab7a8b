// Collects what a report shows of a run while it goes on, and keeps it in a file beside the
// checkpoints, so that the report of a run that was stopped, killed and resumed tells of all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "recordpipe/file.h"
#include "recordpipe/trainer/report/run_report.h"
#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

struct HistoryRecorderOptions {
  uint64_t window = 10;  // steps that make up a point; at least 1
};

class HistoryRecorder {
 public:
  // Keeps it at `path` ("JOB_DIR/report-history.jsonl"; its format: history_lines.h). An empty
  // path: in memory only.
  HistoryRecorder(FileSystem& file_system, std::string path,
                  const HistoryRecorderOptions& options = {});

  // To be called before the first step and whenever variables were restored: they have `step` steps
  // behind them. Takes the history up to there from the file, if there is one; what it has of later
  // steps is forgotten, for they will be made again. Throws what reading and writing it throws.
  void start(uint64_t step);

  // A step that was made. A point ends with each step that is a multiple of the window; a step
  // whose loss is not finite is a point of its own. `seconds` since the step before, of which
  // `input_wait_seconds` were spent waiting for the batch. Throws what writing to the file throws.
  void add(const StepResult& result, double seconds, double input_wait_seconds);
  // An evaluation on images that aren't trained on.
  void add_validation(uint64_t step, const BatchResult& result);
  // Ends the point that isn't full yet.
  void finish();

  const RunHistory& history() const { return history_; }

 private:
  void keep(const std::string& line);

  FileSystem& file_system_;
  const std::string path_;
  const HistoryRecorderOptions options_;
  RunHistory history_;
  TrainingPoint window_;  // its loss is the sum
  std::unique_ptr<OutputFile> file_;
};

}  // namespace recordpipe
