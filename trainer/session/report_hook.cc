#include "recordpipe/trainer/session/report_hook.h"

#include "recordpipe/trainer/session/training_session.h"
#include "recordpipe/trainer/session/write_events.h"

namespace recordpipe {

void ReportHook::after_create_session(TrainingSession& session) {
  write_events(session, [&] { recorder_.start(session.step()); });
}

void ReportHook::after_run(TrainingSession& session, const RunValues& values) {
  write_events(session,
               [&] { recorder_.add(values.result, values.seconds, values.input_wait_seconds); });
}

void ReportHook::end(TrainingSession& session) {
  write_events(session, [&] { recorder_.finish(); });
}

}  // namespace recordpipe
