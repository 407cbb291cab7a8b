// The few functions of NumPy's C API that make arrays, without NumPy's headers: the module would
// then need NumPy to be built, and would be tied to its versions. The API is a table of pointers
// whose places never change within an ABI (numpy/_core/code_generators/numpy_api.py), which is why
// pybind11 takes it in the same way.
#pragma once

#include <cstddef>
#include <span>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace recordpipe::python {

// Returns a writable, contiguous numpy.ndarray of `values`, which keeps `owner` alive. The type is
// exactly NumPy's for `dtype`: int64 is numpy.int64, also where `long long` is another type of the
// same size. Needs the GIL. Throws nanobind::python_error, for example ImportError without NumPy.
nanobind::object numpy_array(void* values, nanobind::dlpack::dtype dtype,
                             std::span<const size_t> shape, nanobind::handle owner);

}  // namespace recordpipe::python
