// A folder that appears under its name when it is complete, or not at all.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

// Filled as ".NAME.partial" beside the target, which is locked meanwhile: a second process that
// wants the same target gets Error{busy}. A symbolic link that leads nowhere yet stays: the folder
// appears where it leads. Destroyed before commit(), all of it is removed; what a
// killed process left is removed by the next one.
//
// The files in it are not synced, which would take longer than all else for many small ones: after
// a loss of power soon after commit() some of them may be cut off.
class AtomicFolder {
 public:
  // Throws Error{already_exists} where there is something at `path`.
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
  std::string path_;  // once links were followed
  std::string partial_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace recordpipe
