#include "python/native/values/arrays.h"

#include <array>
#include <string>

#include "python/native/values/python_object.h"

namespace recordpipe::python {
namespace {

// The few functions of NumPy's C API that make arrays, without NumPy's headers: the module would
// then need NumPy to be built, and would be tied to its versions. The API is a table of pointers
// whose places never change within an ABI (numpy/_core/code_generators/numpy_api.py), which is why
// pybind11 takes it in the same way.
// numpy/ndarraytypes.h: values of NPY_TYPES and of flags.
enum : int { kBool = 0, kFloat = 11, kComplex = 14, kHalf = 23 };
constexpr int kWritable = 0x0400;
constexpr int kMaxDimensions = 32;

struct NumpyApi {
  PyTypeObject* array_type;
  PyObject* (*descr_from_type)(int);
  PyObject* (*new_from_descr)(PyTypeObject*, PyObject* descr, int dimensions, const Py_ssize_t*,
                              const Py_ssize_t* strides, void* data, int flags, PyObject*);
  int (*set_base_object)(PyObject* array, PyObject* base);
};

nb::object import_multiarray() {
  try {
    return nb::module_::import_("numpy._core._multiarray_umath");
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  return nb::module_::import_("numpy.core._multiarray_umath");  // before NumPy 2
}

NumpyApi load() {
  const nb::object capsule = import_multiarray().attr("_ARRAY_API");
  void** const table = static_cast<void**>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (!table) throw nb::python_error();
  NumpyApi api;
  api.array_type = reinterpret_cast<PyTypeObject*>(table[2]);
  api.descr_from_type = reinterpret_cast<decltype(api.descr_from_type)>(table[45]);
  api.new_from_descr = reinterpret_cast<decltype(api.new_from_descr)>(table[94]);
  api.set_base_object = reinterpret_cast<decltype(api.set_base_object)>(table[282]);
  return api;
}

const NumpyApi& api() {
  // Loaded at the first array. NumPy's table lives as long as the process.
  static const NumpyApi loaded = load();
  return loaded;
}

// Of NPY_TYPES, by C's types: NPY_BYTE = 1, NPY_UBYTE, NPY_SHORT, NPY_USHORT, NPY_INT, NPY_UINT,
// NPY_LONG, NPY_ULONG.
int integer_type(int bits, bool is_signed) {
  static_assert(sizeof(long) == 8, "numpy.int64 is NPY_LONG");
  const int of_size = bits == 8 ? 1 : bits == 16 ? 3 : bits == 32 ? 5 : 7;
  return of_size + (is_signed ? 0 : 1);
}

int type_number(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  switch (static_cast<Code>(dtype.code)) {
    case Code::Bool:
      return kBool;
    case Code::Float:
      return dtype.bits == 16 ? kHalf : dtype.bits == 32 ? kFloat : kFloat + 1;
    case Code::Complex:
      return dtype.bits == 64 ? kComplex : kComplex + 1;
    case Code::UInt:
      return integer_type(dtype.bits, false);
    default:
      return integer_type(dtype.bits, true);
  }
}

}  // namespace

nb::dlpack::dtype dtype_of(std::string_view name) {
  using Code = nb::dlpack::dtype_code;
  const size_t digits = name.find_first_of("0123456789");
  const std::string_view family = name.substr(0, digits);
  const auto code = family == "uint" || family == "bfloat" ? Code::UInt
                    : family == "float"                    ? Code::Float
                    : family == "complex"                  ? Code::Complex
                    : family == "bool"                     ? Code::Bool
                                                           : Code::Int;
  const int bits = digits == name.npos ? 8 : std::stoi(std::string(name.substr(digits)));
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
}

nb::object array(const void* values, nb::dlpack::dtype dtype, const std::vector<size_t>& shape,
                 nb::handle owner) {
  std::array<Py_ssize_t, kMaxDimensions> dimensions;
  if (shape.size() > dimensions.size()) throw nb::value_error("an array of over 32 dimensions");
  for (size_t i = 0; i < shape.size(); ++i) dimensions[i] = static_cast<Py_ssize_t>(shape[i]);
  const NumpyApi& numpy = api();
  PyObject* const descr = numpy.descr_from_type(type_number(dtype));  // taken by the array
  if (!descr) throw nb::python_error();
  nb::object made = nb::steal(numpy.new_from_descr(
      numpy.array_type, descr, static_cast<int>(shape.size()), dimensions.data(), nullptr,
      const_cast<void*>(values), kWritable, nullptr));
  if (!made) throw nb::python_error();
  if (numpy.set_base_object(made.ptr(),
                            nb::object(owner, nb::detail::borrow_t{}).release().ptr()) != 0) {
    throw nb::python_error();
  }
  return made;
}

nb::object array(const BytesValues& values, const std::vector<size_t>& shape, nb::handle) {
  nb::list list;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::span<const std::byte> value = values[i];
    list.append(bytes_of(value));
  }
  nb::object flat = nb::module_::import_("numpy").attr("array")(list, nb::arg("dtype") = "O");
  nb::list dimensions;
  for (const size_t dimension : shape) dimensions.append(dimension);
  return flat.attr("reshape")(nb::tuple(dimensions));
}

nb::object image_array(std::span<const std::byte> values, const ImageFormat& format,
                       std::optional<size_t> images, nb::handle owner) {
  std::vector<size_t> shape{format.height, format.width, format.channels};
  if (format.layout == Layout::nchw) shape = {format.channels, format.height, format.width};
  if (images) shape.insert(shape.begin(), *images);
  return array(values.data(), dtype_of(to_string(format.dtype)), shape, owner);
}

nb::object ragged(nb::object values, std::span<const int64_t> splits, nb::handle owner) {
  nb::object row_splits = array(splits, {splits.size()}, owner);
  return nb::module_::import_("recordpipe.ragged").attr("Ragged")(values, row_splits);
}

}  // namespace recordpipe::python
