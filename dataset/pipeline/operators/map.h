// map as a part of operators that look at what a function made.
#pragma once

#include "dataset/pipeline/engine/stage.h"
#include "recordpipe/internal/functions.h"

namespace recordpipe::internal {

// The same elements in the same order, and what `function`, which outlives the stage, makes of
// them.
Stage mapped(Stage input, const MapFunction& function, const ElementOps& output);

}  // namespace recordpipe::internal
