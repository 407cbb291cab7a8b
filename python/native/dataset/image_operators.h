// Image operators, and the batches of CIFAR-10, in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

void define_image_operators(nanobind::module_& module);

}  // namespace recordpipe::python
