// The FileSystem of files that a Python object reads and writes (recordpipe/filesystem.py).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/native/files/python_file.h"
#include "python/native/values/python_object.h"
#include "recordpipe/io/file.h"

namespace recordpipe::python {

// What functions of this module take to find, read and write files: never null.
struct SharedFiles {
  std::shared_ptr<FileSystem> shared;

  FileSystem& operator*() const { return *shared; }
};

// URLs of files of this machine.
inline constexpr std::string_view kFileUrl = "file://";

// For functions that read files of this machine only.
SharedFiles files_of_this_machine();

// The files of a Python object, and those of this machine at file:// URLs; or, without an object,
// those of this machine and of URLs. Thread-safe.
//
// The object's files are written as uploads: they appear whole, under their names.
class PythonFileSystem final : public FileSystem {
 public:
  // Needs the GIL.
  explicit PythonFileSystem(nb::object file_system);
  // Without an object. `ca_file`: a file of trusted certificates, or "": those of the system.
  explicit PythonFileSystem(const std::string& ca_file);

  std::unique_ptr<ByteSource> open_source(const std::string& path) override;
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override;
  std::unique_ptr<MappedFile> map(const std::string& path) override;
  bool can_map(const std::string& path) override;
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override;
  std::optional<FileStatus> status(const std::string& path) override;
  std::string resolve_link(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  std::vector<DirectoryEntry> list_entries(const std::string& directory) override;
  std::vector<DirectoryEntry> list_entries_with_prefix(const std::string& directory,
                                                       std::string_view prefix) override;
  // In an object store, tells from the name: a folder ends with a slash.
  bool is_directory(const std::string& path) override;
  bool reads_ahead(const std::string& path) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_empty_directory(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  std::unique_ptr<Upload> begin_upload(const std::string& path) override;
  std::unique_ptr<FileLock> lock(const std::string& path) override;

 private:
  class NoLock;

  // The path on other_; nothing if the file is the object's.
  std::optional<std::string> other_path(const std::string& path) const;
  OpenedPythonFilePtr open(const std::string& path, size_t head);
  void remember_file(const std::string& path);

  PythonFiles python_;  // without an object: none
  FileSystem& other_;
  bool removes_ = false;                      // has remove()
  const std::shared_ptr<ByteBudget> budget_;  // of all streams
  std::mutex mutex_;
  std::set<std::string> files_;  // paths of regular files, unless their kind is in their names
  const internal::AfterFork renewal_{[this] {
    if (!internal::renew(mutex_)) internal::renew_without_destruction(files_);
  }};
};

}  // namespace recordpipe::python
