// numpy.random.Generator over the random numbers of one element.
#pragma once

#include <nanobind/nanobind.h>

#include "recordpipe/base/philox.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Returns a numpy.random.Generator that draws from `random`. Needs the GIL.
nb::object numpy_generator(const Random& random);

}  // namespace recordpipe::python
