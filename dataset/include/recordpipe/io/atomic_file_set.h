// Writes several files that appear together.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// The files are written one after another, or beside each other, each as an AtomicFile. No file
// appears under its name before all files are complete and synced. The lock of the first file
// guards the whole set: a second set that begins with the same name gets Error{busy}. At most three
// files are open at a time, or kMaxOpen of those that are written beside each other: the others
// are opened for each write.
//
// If a process is killed during commit(), some files keep their old content. The first file is
// renamed last: if it is new, all files are. Destruction before commit() leaves nothing behind.
// After a failure, nothing more may be written. Not thread-safe.
class AtomicFileSet {
 public:
  static constexpr size_t kMaxOpen = 16;

  explicit AtomicFileSet(FileSystem& file_system);
  ~AtomicFileSet();
  AtomicFileSet(const AtomicFileSet&) = delete;
  AtomicFileSet& operator=(const AtomicFileSet&) = delete;

  // Finishes all files and begins a file for `path`. The result is valid until the file is
  // finished; its close() must not be called.
  ByteSink& begin(const std::string& path);
  // The same, without finishing the files that were begun before.
  ByteSink& begin_beside(const std::string& path);
  // Finishes the file that begin() or begin_beside() returned.
  void finish(ByteSink& file);
  // Finishes all files, then renames all files to `paths`, in the order of begin(): each to the
  // path it began with, or to another name in the same directory. Must be called at most once.
  // Throws Error{invalid_argument} if the number of paths differs from the number of files.
  void commit(std::span<const std::string> paths);

 private:
  // Passes writes on to a file, for which others are paused.
  class Member;

  void finish_all();

  FileSystem& file_system_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  std::list<std::unique_ptr<Member>> unfinished_;
  std::list<AtomicFile*> open_;  // of the unfinished: those that aren't paused, oldest first
};

}  // namespace recordpipe
