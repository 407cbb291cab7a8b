// A lock that allows one conversion at a time in a directory.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

// Held for the lifetime of the object; the kernel releases it when the process dies. Implemented by
// a hidden file in the directory, which the destructor removes. The constructor throws Error{busy}
// if another process holds the lock.
class FolderLock {
 public:
  FolderLock(FileSystem& file_system, const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  FileSystem& file_system_;
  std::string path_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace recordpipe
