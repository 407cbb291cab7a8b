// NumPy arrays that point into memory of C++, and keep its owner alive. All functions need the GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "recordpipe/example/columns.h"
#include "recordpipe/image/image_batch.h"

namespace recordpipe::python {

namespace nb = nanobind;

// `name` is NumPy's, for example "uint8" or "float16". NumPy has no bfloat16: its bits are a
// uint16.
nb::dlpack::dtype dtype_of(std::string_view name);

// A contiguous numpy.ndarray. Python is the only user of the memory, so it may write. The type is
// exactly NumPy's for `dtype`: int64 is numpy.int64, also where `long long` is another type of the
// same size. Throws nb::python_error, for example ImportError without NumPy.
nb::object array(const void* values, nb::dlpack::dtype dtype, const std::vector<size_t>& shape,
                 nb::handle owner);
template <class T>
nb::object array(std::span<const T> values, const std::vector<size_t>& shape, nb::handle owner) {
  return array(values.data(), nb::dtype<T>(), shape, owner);
}
// An array of bytes objects, which are copies: NumPy has no type for byte strings of different
// lengths.
nb::object array(const BytesValues& values, const std::vector<size_t>& shape, nb::handle owner);

// The images of a batch: [size, height, width, channels], or [size, channels, height, width].
// `images`: their number, which becomes the first dimension; nothing for a single image without it.
nb::object image_array(std::span<const std::byte> values, const ImageFormat& format,
                       std::optional<size_t> images, nb::handle owner);

// A recordpipe.Ragged.
nb::object ragged(nb::object values, std::span<const int64_t> splits, nb::handle owner);

}  // namespace recordpipe::python
