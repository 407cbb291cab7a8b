// Batches of Dicts and of steps, and their rows, as Python sees them: nested dicts of arrays.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "python/native/iterate/lease.h"
#include "recordpipe/rlds/step_batch.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Returns the values as nested dicts of arrays, which `owner` keeps alive. Needs the GIL.
nb::dict dict_of(const Dict& dict, nb::handle owner);

// Returns the columns of lent->tfds as nested dicts: of a batch, or with `single`, of its only row.
// The last array to die gives `lent` back. Needs the GIL.
//
//     Array        an array that points into the memory; of a row, a number is a NumPy scalar
//     BytesArray   an array of bytes objects; of a row, a string is a bytes object
//     RaggedArray  a recordpipe.Ragged, of Raggeds if there are several ragged dimensions
//     list         a list
//     missing      None in a row; in a batch, "<name>_mask" is beside the value
nb::object dict_to_python(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool,
                          bool single);

// Returns the arrays of `batch`, which `owner` keeps alive. `single`: the batch has one row;
// returns its values without the batch dimension. Needs the GIL.
nb::object steps_to_python(const rlds::StepBatch& batch, const rlds::StepCollator& collator,
                           nb::handle owner, bool single);

}  // namespace recordpipe::python
