#include "python/native/values/numpy_api.h"

#include <array>
#include <cstdint>

namespace recordpipe::python {
namespace {

namespace nb = nanobind;

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

nb::object numpy_array(void* values, nb::dlpack::dtype dtype, std::span<const size_t> shape,
                       nb::handle owner) {
  std::array<Py_ssize_t, kMaxDimensions> dimensions;
  if (shape.size() > dimensions.size()) throw nb::value_error("an array of over 32 dimensions");
  for (size_t i = 0; i < shape.size(); ++i) dimensions[i] = static_cast<Py_ssize_t>(shape[i]);
  const NumpyApi& numpy = api();
  PyObject* const descr = numpy.descr_from_type(type_number(dtype));  // taken by the array
  if (!descr) throw nb::python_error();
  nb::object array =
      nb::steal(numpy.new_from_descr(numpy.array_type, descr, static_cast<int>(shape.size()),
                                     dimensions.data(), nullptr, values, kWritable, nullptr));
  if (!array) throw nb::python_error();
  if (numpy.set_base_object(array.ptr(),
                            nb::object(owner, nb::detail::borrow_t{}).release().ptr()) != 0) {
    throw nb::python_error();
  }
  return array;
}

}  // namespace recordpipe::python
