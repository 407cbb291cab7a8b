#include "dataset/io/atomic_file.h"

#include <algorithm>
#include <utility>

#include "dataset/base/error.h"

namespace recordpipe {
namespace {

constexpr std::string_view kPrefix = ".";
constexpr std::string_view kSuffix = ".partial";

std::string partial_path_of(const std::string& path) {
  const size_t name = path.find_last_of('/') + 1;  // npos + 1 is 0
  return path.substr(0, name).append(kPrefix).append(path, name).append(kSuffix);
}

// The target's name, from that of its partial file; empty for another file's.
std::string_view target_name_of(std::string_view partial) {
  if (!partial.starts_with(kPrefix) || !partial.ends_with(kSuffix)) return {};
  partial.remove_suffix(kSuffix.size());
  return partial.substr(std::min(kPrefix.size(), partial.size()));
}

}  // namespace

AtomicFile::AtomicFile(FileSystem& file_system, std::string path)
    : file_system_(file_system), path_(std::move(path)), partial_path_(partial_path_of(path_)) {
  require_replaceable(file_system_, path_);
  lock_ = file_system_.lock(partial_path_);
  try {
    file_ = file_system_.create(partial_path_, CreateMode::truncate);
    file_->copy_permissions(path_);  // before there is anything to read
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
  } catch (...) {
    // It stays behind; the next writer of this target overwrites it.
  }
  lock_.reset();  // last: nobody else may take the name while it is being removed
}

void remove_abandoned_partials(FileSystem& file_system, const std::string& directory,
                               const std::function<bool(std::string_view name)>& is_wanted) {
  for (const std::string& name : file_system.list(directory)) {
    const std::string_view target = target_name_of(name);
    if (target.empty() || !is_wanted(target)) continue;
    const std::string path = directory + "/" + name;
    try {
      const auto lock = file_system.lock(path);
      file_system.remove(path);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::busy) throw;
    }
  }
}

}  // namespace recordpipe
