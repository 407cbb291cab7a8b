// A run's history as text, a line of JSON for each point, so that it can be kept while the run goes
// on and read after it was killed.
//
//     {"step": 20, "steps": 10, "images": 640, "correct": 71, "loss": 2.25, "learning_rate": 0.1,
//      "seconds": 0.5, "input_wait_seconds": 0.01}
//     {"validation": {"step": 20, "loss": 2.2, "accuracy": 0.14}}
//
// (Each in one line.) A number that is not finite is null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recordpipe/trainer/report/run_report.h"

namespace recordpipe {

// With its '\n'.
std::string history_line(const TrainingPoint& point);
std::string history_line(const EvaluationPoint& point);

// The points up to `last_step`, of each kind those whose steps ascend. What is no line as above,
// such as one that was cut short, is passed over: a run is not to end for it.
RunHistory parse_history(std::string_view text, uint64_t last_step);

}  // namespace recordpipe
