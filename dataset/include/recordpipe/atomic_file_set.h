// Writes several files that appear together.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/atomic_file.h"
#include "recordpipe/file.h"

namespace recordpipe {

// The files are written one after another, each as an AtomicFile. No file appears under its name
// before all files are complete and synced. The lock of the first file guards the whole set: a
// second set that begins with the same name gets Error{busy}. At most three files are open at a
// time.
//
// If a process is killed during commit(), some files keep their old content. The first file is
// renamed last: if it is new, all files are. Destruction before commit() leaves nothing behind.
// After a failure, nothing more may be written. Not thread-safe.
class AtomicFileSet {
 public:
  explicit AtomicFileSet(FileSystem& file_system) : file_system_(file_system) {}
  ~AtomicFileSet();
  AtomicFileSet(const AtomicFileSet&) = delete;
  AtomicFileSet& operator=(const AtomicFileSet&) = delete;

  // Finishes the previous file and begins a file for `path`. The result is valid until the next
  // call; its close() must not be called.
  ByteSink& begin(const std::string& path);
  // Finishes the last file, then renames all files to `paths`, in the order of begin(): each to the
  // path it began with, or to another name in the same directory. Must be called at most once.
  // Throws Error{invalid_argument} if the number of paths differs from the number of files.
  void commit(std::span<const std::string> paths);

 private:
  void finish_last();

  FileSystem& file_system_;
  std::vector<std::unique_ptr<AtomicFile>> files_;  // only the last one is open
};

}  // namespace recordpipe
