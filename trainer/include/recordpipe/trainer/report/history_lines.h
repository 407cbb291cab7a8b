// A run's history as text, one line of JSON per point. The file can be written during the run and
// read after the run was killed.
//
//     {"step": 20, "steps": 10, "images": 640, "correct": 71, "loss": 2.25, "learning_rate": 0.1,
//      "seconds": 0.5, "input_wait_seconds": 0.01}
//     {"validation": {"step": 20, "loss": 2.2, "accuracy": 0.14}}
//
// (Each on one line.) A number that is not finite is null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recordpipe/trainer/report/run_report.h"

namespace recordpipe {

// Ends in '\n'.
std::string history_line(const TrainingPoint& point);
std::string history_line(const EvaluationPoint& point);

// The points up to `last_step`, of each kind those with ascending steps. Lines in another form, for
// example truncated ones, are skipped: they must not end a run.
RunHistory parse_history(std::string_view text, uint64_t last_step);

}  // namespace recordpipe
