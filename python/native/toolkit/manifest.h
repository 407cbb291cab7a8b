// Checks files by the manifest of the job that made them: recordpipe.verify_manifest.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

void define_manifest(nanobind::module_& module);

}  // namespace recordpipe::python
