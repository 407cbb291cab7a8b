// One checkpoint: all that a training run needs to go on as if it had never stopped, in a
// safetensors file that any program can read.
//
//   NAME                  each variable, float32, in the shape that VariableSpec states
//   NAME/momentum         of those that are trained
//   NAME/ExponentialMovingAverage    of those, where the run keeps averages
//   input_pipeline/state  bytes: where the run stands in its data (Iterator::state())
//
// and as metadata the step, the seeds, a hash of the pipeline's plan, "setting:NAME" for each
// setting, and a CRC-32C over everything, without which a flipped bit would be a weight like any
// other. The file's bytes depend on nothing else: no clock, no name of a machine, no path. (A place
// in the data can be written in more than one way, and is where a run was resumed: what the files
// of two equal runs say is the same, not always their bytes.)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "recordpipe/error.h"
#include "recordpipe/file.h"
#include "recordpipe/trainer/backend/variables.h"

namespace recordpipe {

// What a run was told, by name: "batch_size" → "128".
using CheckpointSettings = std::map<std::string, std::string, std::less<>>;

// What there is to a run beside its variables.
struct TrainingState {
  uint64_t step = 0;  // how many were made
  // Of everything random: numbers are drawn by counters (Philox), so that these and the step are
  // the whole state of the generators.
  uint64_t seed = 0;             // the run's
  uint64_t data_seed = 0;        // of the order and distortions that input_state belongs to
  std::string input_state = {};  // empty: unknown, in a file of another program
  uint64_t plan_hash = 0;        // of the pipeline that it is a place in
  CheckpointSettings settings = {};
  // On the validation split, with these variables, where it was measured: 0..1.
  std::optional<double> validation_accuracy = {};
};

// A variable with a number that isn't finite. Its kind is invalid_argument.
class VariableNotFiniteError final : public Error {
 public:
  using Error::Error;
};

// Writes a file that appears whole or not at all. Throws VariableNotFiniteError, and writes
// nothing, where a number is not finite: the checkpoint before is the one to go on from.
void write_checkpoint(FileSystem& file_system, const std::string& path, const Variables& variables,
                      const TrainingState& state);

// Checks everything before it changes a variable. Averages are there afterwards if the file or
// `variables` had some; in the latter case they start from the values. Throws Error{truncated},
// Error{corrupted} for a damaged file, for one with numbers that aren't finite, and for one of
// another step than `step`, where that is given; Error{not_found} or Error{invalid_argument} for
// one of another network; Error{unsupported} for one with numbers that aren't float32; Error{io}
// where it can't be read.
TrainingState read_checkpoint(FileSystem& file_system, const std::string& path,
                              Variables& variables, std::optional<uint64_t> step = {});

// The same without the variables.
TrainingState read_training_state(FileSystem& file_system, const std::string& path);

}  // namespace recordpipe
