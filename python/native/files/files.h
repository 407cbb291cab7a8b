// File systems, as code in Python uses them (recordpipe/filesystem.py, table_files.py).
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

// Registers the classes FileSystem, InputFile and OutputFile of the module.
void define_files(nanobind::module_& module);

}  // namespace recordpipe::python
