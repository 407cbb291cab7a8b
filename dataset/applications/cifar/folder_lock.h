// One conversion at a time in a folder.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

// Held as long as it lives; the kernel drops it when the process dies. A hidden file in the folder,
// removed at the end, stands for it. Throws Error{busy} where another process holds it.
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
