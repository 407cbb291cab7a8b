// parse_tensor(): the bytes of tf.io.serialize_tensor as a NumPy array.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

namespace nb = nanobind;

void define_tensor(nb::module_& module);

}  // namespace recordpipe::python
