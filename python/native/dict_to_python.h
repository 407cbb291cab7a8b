// Dicts and batches of Dicts as Python sees them: nested dicts of arrays.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "python/native/lease.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Returns the values as nested dicts of arrays, which `owner` keeps alive. Needs the GIL.
nb::dict dict_of(const Dict& dict, nb::handle owner);

enum class DictForm {
  element,   // the columns are those of a single element
  batch,     // of a batch
  only_row,  // of a batch of one row, which is returned as a single element
};

// Returns the columns of lent->tfds as nested dicts. The last array to die gives `lent` back. Needs
// the GIL.
//
//     Array        an array that points into the memory; a single number is a NumPy scalar
//     BytesArray   an array of bytes objects; a single string is a bytes object
//     RaggedArray  a recordpipe.Ragged, of Raggeds if there are several ragged dimensions
//     list         a list
//     missing      None in a single element; in a batch, "<name>_mask" is beside the value
nb::object dict_to_python(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool,
                          DictForm form);

}  // namespace recordpipe::python
