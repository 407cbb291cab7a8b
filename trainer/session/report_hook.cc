#include "trainer/session/report_hook.h"

#include "trainer/session/training_session.h"

namespace recordpipe {

void ReportHook::after_create_session(TrainingSession& session) { recorder_.start(session.step()); }

void ReportHook::after_run(TrainingSession&, const RunValues& values) {
  recorder_.add(values.result, values.seconds, values.input_wait_seconds);
}

void ReportHook::end(TrainingSession&) { recorder_.finish(); }

}  // namespace recordpipe
