// The Arrow columns of steps of episodes: one for each feature of a row, and for each mask.
#pragma once

#include <vector>

#include "python/native/dataset/parse_spec.h"

namespace recordpipe::python {

// The columns, with their names ("observation/state") and the shapes of their rows: numbers, and
// byte strings (the files of images). Throws Error{unsupported} for a ragged feature.
std::vector<OutputFeature> step_columns(const rlds::StepReader& reader);

}  // namespace recordpipe::python
