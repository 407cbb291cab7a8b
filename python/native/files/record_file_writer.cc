#include "python/native/files/record_file_writer.h"

#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "dataset/base/require.h"
#include "dataset/example/nearest_float.h"
#include "python/native/interpreter/interpreter_exit.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/record/record_format.h"

namespace recordpipe::python {
namespace {

std::span<const std::byte> bytes_of(nb::handle bytes) {
  const auto value = nb::cast<nb::bytes>(bytes);
  return {static_cast<const std::byte*>(value.data()), value.size()};
}

// `values`: an int64 or float32 array, a list of bytes, or None.
void set_values(ExampleBuilder& example, const std::string& name, nb::handle values) {
  if (values.is_none()) return;
  if (nb::isinstance<nb::list>(values)) {
    std::vector<std::span<const std::byte>> list;
    for (const nb::handle value : values) list.push_back(bytes_of(value));
    example.set_bytes_list(name, list);
    return;
  }
  const auto array = nb::cast<nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>>(values);
  if (array.dtype() == nb::dtype<int64_t>()) {
    example.set_int64s(name, {static_cast<const int64_t*>(array.data()), array.size()});
  } else {
    example.set_floats(name, {static_cast<const float*>(array.data()), array.size()});
  }
}

// A value of Python's float; nullopt for others, and for those out of the range of float, which
// as_values() refuses.
std::optional<float> single_float(nb::handle value) {
  if (!PyFloat_CheckExact(value.ptr())) return std::nullopt;
  return nearest_float(PyFloat_AsDouble(value.ptr()));
}

std::string name_of(nb::handle key) {
  if (!nb::isinstance<nb::str>(key)) {
    throw nb::type_error(
        ("the name of a feature must be a string, not " + std::string(nb::repr(key).c_str()))
            .c_str());
  }
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
  if (!text) {  // lone surrogates
    PyErr_Clear();
    const std::string name = nb::repr(key).c_str();
    throw nb::value_error(("the name of a feature must be Unicode text, unlike " + name).c_str());
  }
  return {text, static_cast<size_t>(size)};  // may hold null bytes
}

}  // namespace

std::string encode_example(const nb::dict& features) {
  // It calls functions in Python: see interpreter_exit.h.
  stay_if_exit_has_begun();
  const ExitGuard guard;
  ExampleBuilder example;
  const nb::object as_values = nb::module_::import_("recordpipe.writer").attr("as_values");
  for (const auto& [key, value] : features) {
    const std::string name = name_of(key);
    if (value.is_none()) continue;
    if (nb::isinstance<nb::bytes>(value)) {
      example.set_bytes(name, bytes_of(value));
    } else if (const auto number = single_float(value)) {
      example.set_float(name, *number);
    } else {
      set_values(example, name, as_values(name, value));
    }
  }
  return example.serialize();
}

RecordFileWriter::RecordFileWriter(SharedFiles files, const std::string& path,
                                   const RecordWriteOptions& options, bool index)
    : files_(std::move(files)) {
  if (index && options.compression != Compression::none) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = path,
                 .reason = "a compressed file can't have an index"});
  }
  writer_.emplace(*files_, path, options);
  if (index) index_ = std::make_unique<Index>(*files_, record_index_path(path));
}

void RecordFileWriter::write(std::span<const std::byte> record) {
  const std::lock_guard lock(mutex_);
  require(writer_ && !is_finished_, "the writer is closed");
  writer_->write(record);
  if (index_) index_->writer.write(kRecordOverhead + record.size());
  ++records_;
}

void RecordFileWriter::finish() {
  const std::lock_guard lock(mutex_);
  if (!writer_ || is_finished_) return;
  is_finished_ = true;
  writer_->finish();
  if (!index_) return;
  index_->writer.close();
  index_->file.finish();
}

void RecordFileWriter::close() {
  finish();
  const std::lock_guard lock(mutex_);
  if (!writer_) return;
  writer_->close();
  if (index_) index_->file.commit();
  drop_files();
}

void RecordFileWriter::abort() {
  const std::lock_guard lock(mutex_);
  drop_files();
}

void RecordFileWriter::drop_files() {
  writer_.reset();
  index_.reset();
}

}  // namespace recordpipe::python
