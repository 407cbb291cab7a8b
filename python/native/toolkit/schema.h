// The schema of records, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Returns the first argument of Schema._of() (recordpipe/schema.py). Needs the GIL.
nb::tuple to_python(const InferredSchema& schema);

}  // namespace recordpipe::python
