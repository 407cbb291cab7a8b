// The data of a training run's report; trainer/include/recordpipe/trainer/report/report.h makes a
// page of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/trainer/training/evaluate.h"

namespace recordpipe {

// The summary of some consecutive training steps.
struct TrainingPoint {
  uint64_t step = 0;   // the number of steps made, including the last of these
  uint64_t steps = 0;  // the number of these steps
  uint64_t images = 0;
  uint64_t correct = 0;      // correctly classified images
  double loss = 0;           // the mean over the steps, without weight decay; may be NaN
  double learning_rate = 0;  // of the last step
  double seconds = 0;
  double input_wait_seconds = 0;  // part of `seconds`

  bool operator==(const TrainingPoint&) const = default;
};

// An evaluation during training.
struct EvaluationPoint {
  uint64_t step = 0;
  double loss = 0;
  double accuracy = 0;  // 0..1

  bool operator==(const EvaluationPoint&) const = default;
};

// The course of a run, in ascending order of step.
struct RunHistory {
  std::vector<TrainingPoint> training = {};
  std::vector<EvaluationPoint> validation = {};
};

struct RunFact {
  std::string name = {};   // "parameters"
  std::string value = {};  // "658651"
};

struct FinalEvaluation {
  std::string split = "eval";  // the images' name
  uint64_t step = 0;           // of the evaluated network
  Evaluation evaluation = {};
};

// Every member may be empty. Texts may contain any characters: they are escaped in the page.
struct RunReport {
  std::string title = "Training run";
  std::vector<std::string> notes = {};  // sentences at the top of the page: "The data are ..."
  std::vector<RunFact> facts = {};      // about the run: model, settings, device; shown in this
                                        // order
  RunHistory history = {};
  std::vector<std::string> class_names = {};  // of class 0, 1, ...; further classes are shown as
                                              // numbers
  std::optional<FinalEvaluation> final_evaluation = {};
};

}  // namespace recordpipe
