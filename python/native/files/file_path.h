// Paths from Python: any bytes, as os.fsencode() and os.fsdecode() treat them. (A str whose bytes
// are not UTF-8 is no std::string for nanobind.)
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

namespace recordpipe::python {

struct FilePath {
  std::string bytes;
};

inline std::vector<std::string> strings(const std::vector<FilePath>& paths) {
  std::vector<std::string> result;
  for (const FilePath& path : paths) result.push_back(path.bytes);
  return result;
}

inline std::vector<FilePath> file_paths(const std::vector<std::string>& paths) {
  std::vector<FilePath> result;
  for (const std::string& path : paths) result.push_back({path});
  return result;
}

}  // namespace recordpipe::python

template <>
struct nanobind::detail::type_caster<recordpipe::python::FilePath> {
  NB_TYPE_CASTER(recordpipe::python::FilePath, const_name("str"))

  // Refuses null bytes, too.
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    PyObject* encoded = nullptr;
    if (PyUnicode_FSConverter(source.ptr(), &encoded) == 0) {
      PyErr_Clear();
      return false;
    }
    const object owner = steal(encoded);
    value.bytes.assign(PyBytes_AsString(encoded), static_cast<size_t>(PyBytes_Size(encoded)));
    return true;
  }
  static handle from_cpp(const recordpipe::python::FilePath& path, rv_policy,
                         cleanup_list*) noexcept {
    return PyUnicode_DecodeFSDefaultAndSize(path.bytes.data(),
                                            static_cast<Py_ssize_t>(path.bytes.size()));
  }
};
