// Files that a Python object reads: range by range, each on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "dataset/io/ranged_file.h"
#include "python/native/interpreter/gil.h"
#include "python/native/values/python_object.h"

namespace recordpipe::python {

// A recordpipe.FileSystem (recordpipe/filesystem.py), and its attributes.
struct PythonFiles {
  SharedObject object;
  bool is_object_store = false;
  bool conditional = false;  // read_range() refuses another version
  bool reads_heads = false;  // has read_head()
};

// A file, as it was when it was opened.
struct PythonFile {
  PythonFiles files;
  std::string path;
  uint64_t size = 0;
  std::string version;  // empty if the file system knows none
};
using PythonFilePtr = std::shared_ptr<const PythonFile>;

struct OpenedPythonFile {
  PythonFilePtr file;
  std::vector<std::byte> head = {};  // the first bytes
};

// What a stream reads of a file with the request that opens it.
inline constexpr size_t kStreamHead = size_t{512} << 10;
// The same for random access; nothing if it takes a request of its own.
inline constexpr size_t kRandomHead = size_t{64} << 10;

// Opens a file, and reads up to `head` bytes. Throws Error{not_found}, Error{invalid_argument} for
// a folder, and what the file system raises.
OpenedPythonFile open_python_file(const PythonFiles& files, const std::string& path, size_t head);

// Throws the exception of a method of the file system, as a PythonFileError for `path`. Needs the
// GIL.
[[noreturn]] void throw_file_error(nb::python_error& error, const std::string& path);

// Calls function() with the GIL. What it raises is a PythonFileError for `path`.
template <class Function>
auto call(const std::string& path, const Function& function) {
  const GilScope gil;
  try {
    return function();
  } catch (nb::python_error& error) {
    throw_file_error(error, path);
  }
}

// The ranges of a file, each read on a thread of its own. After a stop request of the thread that
// opened it (call_stop.h), they throw Error{cancelled}; Error{network} if the file is shorter than
// it was.
class PythonRanges final : public RangedFile {
 public:
  explicit PythonRanges(PythonFilePtr file);

  std::unique_ptr<RequestedRange> request(uint64_t offset, size_t size) const override;
  void check_unchanged() const override;
  uint64_t size() const override { return file_->size; }
  const std::string& version() const override { return file_->version; }
  const std::string& path() const override { return file_->path; }

 private:
  const PythonFilePtr file_;
  const std::stop_token stop_;
};

// Blocks of 1 to 8 MiB, up to 4 of them at a time; windows of up to 8 MiB.
inline constexpr RangeOptions kPythonRanges = {.small_file = uint64_t{1} << 20};

}  // namespace recordpipe::python
