// What the parts of the extension module define: classes and functions. The build writes their
// types to recordpipe/_native.pyi.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

namespace nb = nanobind;

void define_arrow(nb::module_& module);
void define_conversion(nb::module_& module);
void define_files(nb::module_& module);
void define_image_operators(nb::module_& module);
void define_manifest(nb::module_& module);
void define_random(nb::module_& module);
void define_schema(nb::module_& module);
void define_shards(nb::module_& module);
void define_sources(nb::module_& module);
void define_steps(nb::module_& module);
void define_tensor(nb::module_& module);
void define_tfds(nb::module_& module);
void define_toolkit(nb::module_& module);

}  // namespace recordpipe::python
