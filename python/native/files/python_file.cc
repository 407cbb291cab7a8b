#include "python/native/files/python_file.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "python/native/files/file_path.h"
#include "python/native/interpreter/abandonable_call.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/interpreter_exit.h"
#include "python/native/interpreter/interrupt.h"
#include "python/native/interpreter/thread_end.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"

namespace recordpipe::python {
namespace {

constexpr char kReplaced[] = "it was replaced while it was read";
constexpr char kReadAgain[] = "read it again from the start";

// The memory of an object with the buffer protocol.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

// Calls a function that may still run when the interpreter ends, as a read that hangs. Python ends
// such a thread when it takes the GIL again (thread_end.h). No object may be destroyed on the way,
// hence the C function.
nb::object called(const nb::object& function, const nb::tuple& arguments) {
  PyObject* result = nullptr;
  sleep_at_thread_end([&] { result = PyObject_CallObject(function.ptr(), arguments.ptr()); });
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

// Copies what a method has returned for a range at `offset` of a file.
std::span<std::byte> copied(const nb::object& read, const std::string& path, uint64_t offset,
                            const char* method, std::span<std::byte> out) {
  const Buffer buffer(read);
  const auto bytes = buffer.bytes();
  if (bytes.size() > out.size()) {
    throw Error({.kind = ErrorKind::network,
                 .path = path,
                 .offset = offset,
                 .reason = std::string(method) + "() of the file system returned " +
                           std::to_string(bytes.size()) + " bytes, not " +
                           std::to_string(out.size())});
  }
  const GilRelease no_gil;
  std::ranges::copy(bytes, out.begin());
  return out.first(bytes.size());
}

// Returns the number of bytes that one call has read: it may return fewer than out.size().
size_t read_some(const PythonFile& file, uint64_t offset, std::span<std::byte> out) {
  const GilScope gil;
  const ExitGuard guard;
  try {
    const nb::object read =
        called(file.files.object->get().attr("read_range"),
               nb::make_tuple(FilePath{file.path}, offset, out.size(), file.version));
    return copied(read, file.path, offset, "read_range", out).size();
  } catch (nb::python_error& error) {
    throw_file_error(error, file.path);
  }
}

void read_range(const PythonFile& file, uint64_t offset, std::span<std::byte> out) {
  for (size_t filled = 0; filled < out.size();) {
    const size_t count = read_some(file, offset + filled, out.subspan(filled));
    if (count == 0) {
      throw Error({.kind = ErrorKind::network,
                   .path = file.path,
                   .offset = offset + filled,
                   .reason = "it ends here, and had " + std::to_string(file.size) +
                             " bytes when it was opened: " + kReplaced,
                   .hint = kReadAgain});
    }
    filled += count;
  }
}

// What status() and read_head() have returned.
PythonFilePtr file_of(const PythonFiles& files, const std::string& path, const nb::object& status) {
  if (status.is_none()) {
    throw Error({.kind = ErrorKind::not_found,
                 .path = path,
                 .reason = files.is_object_store ? "no such object" : "no such file",
                 .hint = files.is_object_store ? "check the names of its bucket and key" : ""});
  }
  const auto [kind, size, version] =
      nb::cast<std::tuple<std::string, uint64_t, std::string>>(status);
  if (kind != "file") {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = path,
                 .reason = "is a folder",
                 .hint = "name a file"});
  }
  return std::make_shared<const PythonFile>(PythonFile{files, path, size, version});
}

OpenedPythonFile opened_with_head(const PythonFiles& files, const std::string& path, size_t head) {
  const GilScope gil;
  const ExitGuard guard;
  try {
    const nb::object both =
        called(files.object->get().attr("read_head"), nb::make_tuple(FilePath{path}, head));
    if (both.is_none()) return {file_of(files, path, both)};
    OpenedPythonFile opened = {file_of(files, path, both[0])};
    opened.head.resize(std::min<uint64_t>(head, opened.file->size));
    opened.head.resize(copied(both[1], path, 0, "read_head", opened.head).size());
    return opened;
  } catch (nb::python_error& error) {
    throw_file_error(error, path);
  }
}

PythonFilePtr opened_without_head(const PythonFiles& files, const std::string& path) {
  const GilScope gil;
  const ExitGuard guard;
  try {
    return file_of(files, path,
                   called(files.object->get().attr("status"), nb::make_tuple(FilePath{path})));
  } catch (nb::python_error& error) {
    throw_file_error(error, path);
  }
}

ErrorKind kind_of(const nb::python_error& error) {
  if (error.matches(PyExc_FileNotFoundError)) return ErrorKind::not_found;
  if (error.matches(PyExc_PermissionError)) return ErrorKind::permission_denied;
  return ErrorKind::io;
}

std::string text_of(const nb::python_error& error) {
  std::string text = nb::cast<std::string>(error.type().attr("__name__"));
  try {
    const std::string message = nb::cast<std::string>(nb::str(error.value()));
    if (!message.empty()) text += ": " + message;
  } catch (nb::python_error&) {
    // Its __str__() fails: the name must do.
  } catch (const nb::cast_error&) {
    // No UTF-8.
  }
  return text;
}

}  // namespace

void throw_file_error(nb::python_error& error, const std::string& path) {
  const PythonFileError exception(
      {.kind = kind_of(error), .path = path, .reason = text_of(error)},
      PythonException(error, "the file system was asked for " + printable(path)));
  if (keep_if_raised_by_interrupt(std::make_exception_ptr(exception.exception()))) {
    throw_cancelled();
  }
  throw exception;
}

OpenedPythonFile open_python_file(const PythonFiles& files, const std::string& path, size_t head) {
  if (files.reads_heads) return opened_with_head(files, path, head);
  OpenedPythonFile opened = {opened_without_head(files, path)};
  opened.head.resize(std::min<uint64_t>(head, opened.file->size));
  read_range(*opened.file, 0, opened.head);
  return opened;
}

namespace {

using Bytes = std::vector<std::byte>;

class PythonRange final : public RequestedRange {
 public:
  PythonRange(const PythonFilePtr& file, uint64_t offset, size_t size, std::stop_token stop)
      : stop_(std::move(stop)), call_([file, offset, size] {
          Bytes read(size);
          read_range(*file, offset, read);
          return read;
        }) {}
  void receive() override { bytes = std::move(call_.wait(stop_)); }

 private:
  const std::stop_token stop_;
  const AbandonableCall<Bytes> call_;
};

}  // namespace

PythonRanges::PythonRanges(PythonFilePtr file)
    : file_(std::move(file)), stop_(internal::call_stop) {}

std::unique_ptr<RequestedRange> PythonRanges::request(uint64_t offset, size_t size) const {
  return std::make_unique<PythonRange>(file_, offset, size, stop_);
}

void PythonRanges::check_unchanged() const {
  if (file_->files.conditional || file_->version.empty()) return;
  const bool is_same = call(file_->path, [&] {
    const nb::object status = file_->files.object->get().attr("status")(FilePath{file_->path});
    return !status.is_none() && nb::cast<std::string>(status[2]) == file_->version;
  });
  if (is_same) return;
  throw Error(
      {.kind = ErrorKind::network, .path = file_->path, .reason = kReplaced, .hint = kReadAgain});
}

}  // namespace recordpipe::python
