// Tables in and out: the Arrow PyCapsule interface.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

namespace nb = nanobind;

void define_arrow(nb::module_& module);

}  // namespace recordpipe::python
