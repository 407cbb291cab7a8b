// The toolkit's functions on files, for Python: what toolkit.py, statistics.py and conversion.py
// of recordpipe/_tools make values of.
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

namespace nb = nanobind;

// info(), verify(), salvage(), index(), check_index(), stats().
void define_toolkit(nb::module_& module);
// convert().
void define_conversion(nb::module_& module);

}  // namespace recordpipe::python
