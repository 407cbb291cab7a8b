// Writes a folder that appears under its name when it is complete, or not at all.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/io/file.h"

namespace recordpipe {

// The folder is filled as ".NAME.partial" beside the target, under a lock: a second process with
// the same target gets Error{busy}. A dangling symbolic link is kept: the folder appears at its
// target. The destructor removes everything, unless commit() was called. If a process is killed,
// the next process with the same target removes its files.
//
// The files in the folder are not synced: for many small files, syncing would take most of the
// time. After a power failure soon after commit(), some files may be truncated.
class AtomicFolder {
 public:
  // Throws Error{already_exists} if `path` exists.
  AtomicFolder(FileSystem& files, std::string path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  // The folder to fill.
  const std::string& partial() const { return partial_; }
  void commit();

 private:
  void discard() noexcept;
  void unlock() noexcept;

  FileSystem& files_;
  std::string path_;  // with links resolved
  std::string partial_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace recordpipe
