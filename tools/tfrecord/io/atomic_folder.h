// A folder that appears under its name when it is complete, or not at all.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

// Filled as ".NAME.partial" beside the target, under a lock: a second process with the same target
// gets Error{busy}. A dangling symbolic link is kept: the folder appears at its target. The
// destructor removes everything, unless commit() was called; the next process removes the files of
// a killed one.
//
// The files in it are not synced, which would dominate the time for many small ones: after a loss
// of power soon after commit(), some of them may be truncated.
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
