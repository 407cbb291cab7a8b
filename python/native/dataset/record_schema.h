// The schema of records in memory, for parse() without features.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

namespace nb = nanobind;

void define_record_schema(nb::module_& module);

}  // namespace recordpipe::python
