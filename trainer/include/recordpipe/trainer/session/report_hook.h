// Records the steps of a training session for its report.
#pragma once

#include "recordpipe/trainer/report/history_recorder.h"
#include "recordpipe/trainer/session/session_hook.h"

namespace recordpipe {

// If the recorder's file can't be written, the session's note reports it and the training
// continues; a report made before the program ends is still complete.
class ReportHook final : public SessionHook {
 public:
  // `recorder` must outlive the hook. After the run, also after an exception, its history() is
  // ready for the report. The caller must add evaluations made during the run.
  explicit ReportHook(HistoryRecorder& recorder) : recorder_(recorder) {}

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;
  void end(TrainingSession& session) override;

 private:
  HistoryRecorder& recorder_;
};

}  // namespace recordpipe
