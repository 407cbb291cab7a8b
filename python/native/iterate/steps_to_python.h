// Batches of steps as Python sees them: nested dicts of arrays, decoded images among them.
#pragma once

#include <nanobind/nanobind.h>

#include "recordpipe/rlds/step_batch.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Returns the arrays of `batch`, which `owner` keeps alive. `single`: the batch has one row;
// returns its values without the batch dimension. Needs the GIL.
nb::object steps_to_python(const rlds::StepBatch& batch, const rlds::StepCollator& collator,
                           nb::handle owner, bool single);

}  // namespace recordpipe::python
