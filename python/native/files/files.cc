// File systems, as code in Python uses them (recordpipe/filesystem.py, table_files.py).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "dataset/http/transfer/certificates.h"
#include "python/native/files/file_path.h"
#include "python/native/files/python_file_system.h"
#include "python/native/interpreter/gil.h"
#include "python/native/module.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/io/atomic_file.h"

namespace recordpipe::python {
namespace {

// The bytes of a range; fewer at the end of the file.
nb::bytes bytes_at(const RandomAccessFile& file, uint64_t offset, size_t length) {
  length = std::min<uint64_t>(length, file.size() - std::min(offset, file.size()));
  auto bytes =
      nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(length)));
  if (!bytes.is_valid()) throw nb::python_error();
  const std::span out(reinterpret_cast<std::byte*>(PyBytes_AsString(bytes.ptr())), length);
  const GilRelease no_gil;
  if (file.read_at(offset, out) < length) {
    throw Error({.kind = ErrorKind::io,
                 .path = file.path(),
                 .offset = offset,
                 .reason = "the file is shorter than it was when it was opened",
                 .hint = "read it again from the start"});
  }
  return bytes;
}

uint64_t size_of(const SharedFiles& files, const FilePath& path) {
  if (const auto status = (*files).status(path.bytes)) return status->size;
  throw Error({.kind = ErrorKind::not_found, .path = path.bytes, .reason = "no such file"});
}

std::vector<FilePath> names_in(const SharedFiles& files, const FilePath& folder,
                               const std::string& prefix) {
  std::vector<FilePath> names;
  for (DirectoryEntry& entry : (*files).list_entries_with_prefix(folder.bytes, prefix)) {
    names.push_back({std::move(entry.name)});
  }
  return names;
}

// A file that appears at commit(). Dropped before, it leaves none.
class WrittenFile {
 public:
  WrittenFile(SharedFiles files, const FilePath& path) : files_(std::move(files)) {
    const GilRelease no_gil;
    file_ = std::make_unique<AtomicFile>(*files_, path.bytes);
  }
  ~WrittenFile() { drop(); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  void write(std::span<const std::byte> data) { open_file().write(data); }
  void commit() { open_file().commit(); }
  void drop() {
    const GilRelease no_gil;
    file_.reset();
  }

 private:
  // Python may write what a buffer still holds when it drops the buffer.
  AtomicFile& open_file() {
    if (file_) return *file_;
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "the file was dropped"});
  }

  const SharedFiles files_;
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace

void define_files(nb::module_& module) {
  nb::class_<RandomAccessFile>(module, "InputFile")
      .def_prop_ro("size", &RandomAccessFile::size)
      .def("read", &bytes_at);
  nb::class_<WrittenFile>(module, "OutputFile")
      .def("write",
           [](WrittenFile& self, const nb::bytes& data) {
             const std::span bytes(static_cast<const std::byte*>(data.data()), data.size());
             const GilRelease no_gil;
             self.write(bytes);
           })
      .def("commit", &WrittenFile::commit, nb::call_guard<GilRelease>())
      .def("drop", &WrittenFile::drop);
  nb::class_<SharedFiles>(module, "FileSystem")
      .def("__init__",
           [](SharedFiles* self, const nb::object& file_system) {
             new (self) SharedFiles(files_of_object(file_system));
           })
      .def_static("of_urls", [](const FilePath& ca_file) { return files_of_urls(ca_file.bytes); })
      .def("size", &size_of)
      .def("names", &names_in)
      .def("make_folders", [](const SharedFiles& self,
                              const FilePath& folder) { (*self).make_directories(folder.bytes); })
      .def("remove",
           [](const SharedFiles& self, const FilePath& path) { (*self).remove(path.bytes); })
      .def("open", [](const SharedFiles& self,
                      const FilePath& path) { return (*self).open_random(path.bytes); })
      .def("create", [](const SharedFiles& self, const FilePath& path) {
        return std::make_unique<WrittenFile>(self, path);
      });
  module.def("without_secrets",
             [](const FilePath& path) { return FilePath{without_secrets(path.bytes)}; });
  module.def("has_certificates", [] { return find_certificates() != Certificates(); });
}

}  // namespace recordpipe::python
