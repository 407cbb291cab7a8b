#include "dataset/applications/cifar/folder_lock.h"

#include "recordpipe/error.h"

namespace recordpipe {

FolderLock::FolderLock(FileSystem& file_system, const std::string& folder)
    : file_system_(file_system), path_(folder + "/.generate_cifar10_tfrecords.lock") {
  lock_ = file_system_.lock(path_);
}

FolderLock::~FolderLock() {
  try {
    file_system_.remove(path_);
  } catch (const Error&) {
    // The unlocked file may stay; the next conversion removes it.
  }
}

}  // namespace recordpipe
