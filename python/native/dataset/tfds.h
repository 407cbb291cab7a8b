// tfds() and tfds_info(): data sets of TensorFlow Datasets.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

void define_tfds(nanobind::module_& module);

}  // namespace recordpipe::python
