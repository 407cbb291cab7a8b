// map as a part of operators that need the result of a function for each element.
#pragma once

#include "dataset/pipeline/engine/stage.h"
#include "recordpipe/internal/functions.h"

namespace recordpipe::internal {

// The same elements in the same order, replaced by the results of `function`, which must outlive
// the stage.
Stage mapped(Stage input, const MapFunction& function, const ElementOps& output);

}  // namespace recordpipe::internal
