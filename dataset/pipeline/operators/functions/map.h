// Applies a function to each element, as map does, for other operators that need the results.
#pragma once

#include "dataset/pipeline/plan/stage.h"
#include "recordpipe/pipeline/internal/functions.h"

namespace recordpipe::internal {

// Returns a stage that yields the results of `function` for the elements of `input`, in the same
// order. `function` must outlive the stage.
Stage mapped(Stage input, const MapFunction& function, const ElementOps& output);

}  // namespace recordpipe::internal
