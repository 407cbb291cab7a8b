// Records what the report of a training session shows of its steps.
#pragma once

#include "recordpipe/trainer/report/history_recorder.h"
#include "recordpipe/trainer/session/session_hook.h"

namespace recordpipe {

// What can't be written to the recorder's file is noted, and the training goes on; a report that is
// made before the program ends lacks nothing of its run.
class ReportHook final : public SessionHook {
 public:
  // `recorder` must outlive it; its history() is the report's when the run has ended, by an
  // exception too. Evaluations while the run goes on are for whoever makes them to add.
  explicit ReportHook(HistoryRecorder& recorder) : recorder_(recorder) {}

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;
  void end(TrainingSession& session) override;

 private:
  HistoryRecorder& recorder_;
};

}  // namespace recordpipe
