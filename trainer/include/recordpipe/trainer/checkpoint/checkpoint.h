// One checkpoint: the complete state of a training run, in a safetensors file. A run resumed from
// it continues exactly as if it had never stopped.
//
//   NAME                  each variable, float32, in the shape of its VariableSpec
//   NAME/momentum         for trained variables
//   NAME/ExponentialMovingAverage    for trained variables, if the run keeps averages
//   input_pipeline/state  bytes: the input position (Iterator::state())
//
// The metadata holds the step, the seeds, a hash of the pipeline's plan, the accuracy on the
// validation split if it was measured, the loss scale of a run that scales gradients,
// "setting:NAME" for each setting, and a CRC-32C of everything; without the CRC a flipped bit would
// be undetectable in a weight. The file's bytes depend on nothing else: no clock, host name or
// path. (An input position has several encodings: TrainingSession::state() reduces them to one, so
// that equal runs with equal evaluations write equal bytes, also if one was resumed.)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/trainer/backend/variables.h"

namespace recordpipe {

// The steps of a training: a limit for numbers from files and command lines.
constexpr uint64_t kMaxStep = 1'000'000'000'000;

// The options of a run, by name: "batch_size" → "128".
using CheckpointSettings = std::map<std::string, std::string, std::less<>>;

// The state of a run apart from its variables.
struct TrainingState {
  uint64_t step = 0;  // completed steps
  // The seeds of all random numbers. Generators are counter-based (Philox): the seeds and the step
  // are their whole state.
  uint64_t seed = 0;             // of the run
  uint64_t data_seed = 0;        // of the order and distortions at input_state
  std::string input_state = {};  // empty: unknown, because another program wrote the file
  // Of the pipeline of input_state. For information: the state itself names its pipeline.
  uint64_t plan_hash = 0;
  CheckpointSettings settings = {};
  // On the validation split, with these variables, 0 to 1; empty if not measured.
  std::optional<double> validation_accuracy = {};
};

// A variable contains a value that is not finite. The kind is invalid_argument.
class VariableNotFiniteError final : public Error {
 public:
  using Error::Error;
};

// Writes the file atomically: it appears whole or not at all. If a value is not finite, throws
// VariableNotFiniteError and writes nothing, so the previous checkpoint stays the one to resume
// from.
void write_checkpoint(FileSystem& file_system, const std::string& path, const Variables& variables,
                      const TrainingState& state);

// Checks the whole file before it changes a variable. Averages exist afterwards if the file or
// `variables` had them; if the file has none, they start from the values. Throws Error{truncated}
// or Error{corrupted} for a damaged file, for values that are not finite, for a step above
// kMaxStep, and for another step than `step`, if given; Error{not_found} or
// Error{invalid_argument} for another network; Error{unsupported} for values that are not float32;
// Error{io} if the file can't be read.
TrainingState read_checkpoint(FileSystem& file_system, const std::string& path,
                              Variables& variables, std::optional<uint64_t> step = {});

// Reads the state only, without the variables.
TrainingState read_training_state(FileSystem& file_system, const std::string& path);

}  // namespace recordpipe
