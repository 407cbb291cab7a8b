#include "tools/tfrecord/io/atomic_folder.h"

#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

void remove_tree(FileSystem& files, const std::string& path) {
  try {
    return files.remove(path);  // removes a link, but not its target
  } catch (const Error& error) {
    // remove() throws invalid_argument only for a folder.
    if (error.kind() != ErrorKind::invalid_argument) throw;
  }
  for (const std::string& name : files.list(path)) remove_tree(files, path + "/" + name);
  files.remove_empty_directory(path);
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

AtomicFolder::AtomicFolder(FileSystem& files, std::string path)
    : files_(files), path_(without_slashes(std::move(path))) {
  if (files_.status(path_)) {
    throw Error({.kind = ErrorKind::already_exists,
                 .path = path_,
                 .reason = "already exists",
                 .hint = "give -o the name of a new folder"});
  }
  path_ = without_slashes(files_.resolve_link(path_));
  const size_t name = path_.find_last_of('/') + 1;  // npos + 1 is 0
  partial_ = path_.substr(0, name) + "." + path_.substr(name) + ".partial";
  lock_ = files_.lock(partial_ + ".lock");
  try {
    remove_tree(files_, partial_);
    files_.make_directories(partial_);
  } catch (...) {
    discard();
    throw;
  }
}

AtomicFolder::~AtomicFolder() {
  if (lock_) discard();
}

void AtomicFolder::commit() {
  files_.rename(partial_, path_);
  unlock();
  files_.sync_directory(parent_directory(path_));
}

void AtomicFolder::discard() noexcept {
  try {
    remove_tree(files_, partial_);
  } catch (const Error&) {
    // Another error is already being reported; the next process removes the rest.
  }
  unlock();
}

// Removes the lock file before releasing the lock: a process that waits for the lock detects this
// (posix_file_system.cc).
void AtomicFolder::unlock() noexcept {
  try {
    files_.remove(partial_ + ".lock");
  } catch (const Error&) {
    // The lock file stays, like that of a killed process.
  }
  lock_.reset();
}

}  // namespace recordpipe
