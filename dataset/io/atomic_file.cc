#include "dataset/io/atomic_file.h"

#include <utility>

#include "dataset/base/error.h"

namespace recordpipe {
namespace {

std::string partial_path_of(const std::string& path) {
  const size_t name = path.find_last_of('/') + 1;  // npos + 1 is 0
  return path.substr(0, name) + "." + path.substr(name) + ".partial";
}

}  // namespace

AtomicFile::AtomicFile(FileSystem& file_system, std::string path)
    : file_system_(file_system), path_(std::move(path)), partial_path_(partial_path_of(path_)) {
  require_replaceable(file_system_, path_);
  lock_ = file_system_.lock(partial_path_);
  try {
    file_ = file_system_.create(partial_path_, CreateMode::truncate);
  } catch (...) {
    discard();
    throw;
  }
}

AtomicFile::~AtomicFile() {
  if (lock_) discard();
}

void AtomicFile::write(std::span<const std::byte> data) {
  require_open();
  try {
    file_->write(data);
  } catch (...) {
    discard();
    throw;
  }
}

void AtomicFile::finish() {
  require_open();
  try {
    file_->sync();
    file_->close();
  } catch (...) {
    discard();
    throw;
  }
  file_.reset();
}

void AtomicFile::commit() {
  const bool finished = lock_ && !file_;
  if (!finished) finish();
  try {
    file_system_.rename(partial_path_, path_);
  } catch (...) {
    discard();
    throw;
  }
  lock_.reset();
  file_system_.sync_directory(parent_directory(path_));
}

// Nothing may be added after a failure: the file would have a hole.
void AtomicFile::require_open() const {
  if (file_) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = path_,
               .reason = "written to after it was finished or had failed"});
}

void AtomicFile::discard() noexcept {
  file_.reset();
  try {
    file_system_.remove(partial_path_);
  } catch (const Error&) {
    // It stays behind; the next writer of this target overwrites it.
  }
  lock_.reset();  // last: nobody else may take the name while it is being removed
}

}  // namespace recordpipe
