// Parts of the work on many files, for recordpipe.map_shards: surveys that merge, jobs that resume.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

void define_shards(nanobind::module_& module);

}  // namespace recordpipe::python
