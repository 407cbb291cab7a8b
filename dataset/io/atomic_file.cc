#include "recordpipe/io/atomic_file.h"

#include <algorithm>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr std::string_view kPrefix = ".";
constexpr std::string_view kSuffix = ".partial";

std::string partial_path_of(const std::string& path) {
  const size_t name = path.find_last_of('/') + 1;  // npos + 1 is 0
  return path.substr(0, name).append(kPrefix).append(path, name).append(kSuffix);
}

// Returns the target's name, given the name of its partial file; empty for any other name.
std::string_view target_name_of(std::string_view partial) {
  if (!partial.starts_with(kPrefix) || !partial.ends_with(kSuffix)) return {};
  partial.remove_suffix(kSuffix.size());
  return partial.substr(std::min(kPrefix.size(), partial.size()));
}

// Runs a step of writing `partial`. Errors name `path`, the only name that the caller knows, except
// errors caused by the partial file's name.
template <typename Step>
auto run_for(const std::string& path, const std::string& partial, const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    if (error.path() != partial || error.kind() == ErrorKind::already_exists) throw;
    const std::string detail = error.kind() == ErrorKind::not_found
                                   ? "its folder must exist"
                                   : "it is written as " + printable(partial) + " first";
    throw Error({.kind = error.kind(),
                 .path = path,
                 .offset = error.offset(),
                 .reason = error.reason(),
                 .hint = error.hint().empty() ? detail : error.hint()});
  }
}

}  // namespace

AtomicFile::AtomicFile(FileSystem& file_system, std::string path, Durability durability)
    : file_system_(file_system), durability_(durability) {
  if (begin_upload(path)) return;
  find_target(std::move(path));
  partial_path_ = partial_path_of(target_);
  lock_ = locked();
  begin();
}

AtomicFile::AtomicFile(FileSystem& file_system, std::string path, const AtomicFile& first)
    : file_system_(file_system) {
  if (!first.lock_ && !first.upload_) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = std::move(path),
                 .reason = "the first file of the set does not hold its lock"});
  }
  if (begin_upload(path)) return;
  find_target(std::move(path));
  partial_path_ = partial_path_of(target_);
  // Throws if another process is writing this file outside the set. Writers of the same set take
  // the lock of the first file instead.
  const auto alone = locked();
  begin();
}

bool AtomicFile::begin_upload(const std::string& path) {
  upload_.reset(file_system_.begin_upload(path).release());
  if (upload_) path_ = path;
  return upload_ != nullptr;
}

// require_replaceable() comes first: its stat() fails if the path is another user's symbolic link
// in a world-writable directory, which the kernel refuses to follow (fs.protected_symlinks).
void AtomicFile::find_target(std::string path) {
  require_replaceable(file_system_, path);
  target_ = file_system_.resolve_link(path);
  path_ = std::move(path);
}

// Does not use run_or_discard(): a partial file that another process has locked must not be
// discarded.
std::unique_ptr<FileLock> AtomicFile::locked() {
  return run_for(path_, partial_path_, [&] { return file_system_.lock(partial_path_); });
}

template <typename Step>
void AtomicFile::run_or_discard(const Step& step) {
  try {
    run_for(path_, partial_path_, step);
  } catch (...) {
    discard();
    throw;
  }
}

void AtomicFile::begin() {
  run_or_discard([&] {
    file_ = file_system_.create(partial_path_, CreateMode::truncate);
    file_->copy_permissions(target_);  // before the file has content
  });
}

AtomicFile::~AtomicFile() {
  if (stage_ != Stage::over && maker_.is_this()) discard();
}

void AtomicFile::write(std::span<const std::byte> data) {
  require_open();
  run_or_discard([&] { upload_ ? upload_->write(data) : open_file().write(data); });
}

void AtomicFile::pause() {
  require_open();
  if (!file_) return;
  run_or_discard([&] { file_->close(); });
  file_.reset();
}

OutputFile& AtomicFile::open_file() {
  if (!file_) file_ = file_system_.create(partial_path_, CreateMode::append);
  return *file_;
}

void AtomicFile::finish() {
  require_open();
  run_or_discard([&] {
    if (upload_) return upload_->finish();
    OutputFile& file = open_file();
    if (durability_ == Durability::synced) file.sync();
    file.close();
  });
  file_.reset();
  stage_ = Stage::finished;
}

void AtomicFile::commit() {
  maker_.require_this("its writer", path_);
  if (upload_) {
    if (stage_ != Stage::finished) require_open();
    run_or_discard([&] { upload_->commit(); });
    stage_ = Stage::over;
    upload_.reset();
    return;
  }
  if (stage_ != Stage::finished) finish();
  run_or_discard([&] { file_system_.rename(partial_path_, target_); });
  stage_ = Stage::over;
  lock_.reset();
  if (durability_ == Durability::synced) {
    file_system_.sync_directory(parent_directory(target_));
  }
}

void AtomicFile::commit_as(std::string path) {
  if (upload_ && path != path_) {
    throw Error({.kind = ErrorKind::unsupported,
                 .path = path_,
                 .reason = "an object can't be renamed to " + printable(path)});
  }
  if (upload_) return commit();
  find_target(std::move(path));
  commit();
}

// Nothing may be written after a failure; otherwise the file would have a gap.
void AtomicFile::require_open() const {
  maker_.require_this("its writer", path_);
  if (stage_ == Stage::open) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = path_,
               .reason = "written after finish() or after a failed write"});
}

void AtomicFile::discard() noexcept {
  stage_ = Stage::over;
  upload_.reset();
  file_.reset();
  if (partial_path_.empty()) return;
  try {
    file_system_.remove(partial_path_);
  } catch (...) {
    // The partial file stays; the next writer of this target overwrites it.
  }
  lock_.reset();  // last: no other process may lock the name before it is removed
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
