// Implements the interface of file.h for the operating system's file system. Mapped files:
// posix_mapped_file.cc.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset/io/posix_descriptor.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"

namespace recordpipe {
namespace {

class PosixSource final : public ByteSource {
 public:
  explicit PosixSource(const std::string& path) : descriptor_(path, O_RDONLY) {}

  size_t read(std::span<std::byte> out) override {
    if (ended_ || out.empty()) return 0;
    while (true) {
      const ssize_t count = ::read(descriptor_.get(), out.data(), out.size());
      if (count >= 0) {
        ended_ = count == 0;  // a terminal can return data after the end
        return static_cast<size_t>(count);
      }
      if (errno != EINTR) throw system_error(errno, "read", descriptor_.path());
    }
  }

  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
  bool ended_ = false;
};

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  // O_NONBLOCK: opening a FIFO (which is then rejected) must not wait for its writer.
  explicit PosixRandomAccessFile(const std::string& path)
      : descriptor_(path, O_RDONLY | O_NONBLOCK) {
    descriptor_.require_regular();
  }

  uint64_t size() const override { return static_cast<uint64_t>(descriptor_.opened().st_size); }

  // Reads nothing beyond size(), even if the file has grown.
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override {
    if (offset >= this->size()) return {};
    const auto out = scratch.first(std::min<uint64_t>(size, this->size() - offset));
    return out.first(descriptor_.read_at(offset, out));
  }

  std::string identity() const override { return posix_identity(descriptor_.opened()); }
  bool damaged() const override {
    return descriptor_.status().st_size < descriptor_.opened().st_size;
  }

  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
};

class PosixOutputFile final : public OutputFile {
 public:
  PosixOutputFile(const std::string& path, CreateMode mode)
      : descriptor_(path,
                    O_WRONLY | O_CREAT | O_NOFOLLOW | (mode == CreateMode::append ? O_APPEND : 0)) {
    if (mode == CreateMode::truncate) descriptor_.truncate();
  }

  void write(std::span<const std::byte> data) override { descriptor_.write_all(data); }
  void sync() override { descriptor_.sync(); }
  void copy_permissions(const std::string& path) override { descriptor_.copy_permissions(path); }
  void close() override { descriptor_.close(); }
  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
};

// Locks with flock(2). The lock belongs to the open file description: two holders in the same
// process also exclude each other, and the kernel releases the lock when the process dies. A child
// made by fork() shares the description: the lock is released explicitly, by the process that took
// it, and not by closing the last copy.
class PosixLock final : public FileLock {
 public:
  explicit PosixLock(const std::string& path)
      : descriptor_(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK) {
    descriptor_.require_regular();
    while (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        throw Error({.kind = ErrorKind::busy,
                     .path = path,
                     .reason = "locked by another process or thread",
                     .hint = "wait until it has finished, or end it"});
      }
      if (errno != EINTR) throw system_error(errno, "lock", path);
    }
  }

  ~PosixLock() override {
    if (maker_.is_this()) ::flock(descriptor_.get(), LOCK_UN);
  }

  bool holds_its_name() const override {
    const struct stat& mine = descriptor_.opened();
    struct stat named = {};
    if (::lstat(descriptor_.path().c_str(), &named) == 0)
      return named.st_dev == mine.st_dev && named.st_ino == mine.st_ino;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw system_error(errno, "stat", descriptor_.path());
  }

 private:
  PosixDescriptor descriptor_;
  const internal::MakerProcess maker_;
};

FileKind kind_of(const struct stat& info) {
  return S_ISREG(info.st_mode)   ? FileKind::regular
         : S_ISDIR(info.st_mode) ? FileKind::directory
                                 : FileKind::other;
}

// Returns the entry of an open directory; nullopt if it was removed meanwhile. Asks for the status
// only of links, and on file systems whose listings have no kinds.
std::optional<DirectoryEntry> entry_of(int directory, const dirent& listed) {
  DirectoryEntry entry{.name = listed.d_name};
  if (listed.d_type == DT_REG) return entry;
  if (listed.d_type != DT_LNK && listed.d_type != DT_UNKNOWN) {
    entry.kind = listed.d_type == DT_DIR ? FileKind::directory : FileKind::other;
    return entry;
  }
  struct stat info = {};
  if (listed.d_type == DT_UNKNOWN) {
    if (::fstatat(directory, listed.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    entry.is_link = S_ISLNK(info.st_mode);
  } else {
    entry.is_link = true;
  }
  if (entry.is_link && ::fstatat(directory, listed.d_name, &info, 0) != 0) {
    entry.kind = FileKind::other;
    return entry;
  }
  entry.kind = kind_of(info);
  entry.size = static_cast<uint64_t>(info.st_size);
  return entry;
}

class PosixFileSystem final : public FileSystem {
 public:
  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return std::make_unique<PosixSource>(path);
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return std::make_unique<PosixRandomAccessFile>(path);
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override { return map_posix_file(path); }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    return std::make_unique<PosixOutputFile>(path, mode);
  }
  std::unique_ptr<FileLock> lock(const std::string& path) override {
    while (true) {
      // The previous holder may have renamed or removed the file between open and lock.
      auto lock = std::make_unique<PosixLock>(path);
      if (lock->holds_its_name()) return lock;
    }
  }

  std::optional<FileStatus> status(const std::string& path) override {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) {
      // No file has a name that is too long (a pattern may be longer), or is in a loop of links.
      if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG || errno == ELOOP)
        return std::nullopt;
      throw system_error(errno, "stat", path);
    }
    FileStatus status;
    status.size = static_cast<uint64_t>(info.st_size);
    status.kind = kind_of(info);
    return status;
  }

  std::string resolve_link(const std::string& path) override {
    constexpr int kMaxLinks = 40;  // the limit of Linux
    std::filesystem::path found = path;
    for (int i = 0; i < kMaxLinks; ++i) {
      std::error_code error;
      const std::filesystem::path next = std::filesystem::read_symlink(found, error);
      if (error) {  // not a link, or no such file: opening it will report the error
        return found.native();
      }
      found = found.parent_path() / next;  // an absolute `next` replaces the path
    }
    throw system_error(ELOOP, "resolve", path);
  }

  std::vector<std::string> list(const std::string& directory) override {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator entry(directory, error);
    while (!error && entry != std::filesystem::directory_iterator()) {
      names.push_back(entry->path().filename().native());
      entry.increment(error);
    }
    if (error) throw system_error(error.value(), "list", directory);
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<DirectoryEntry> list_entries(const std::string& directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
    if (open == nullptr) throw system_error(errno, "list", directory);
    std::vector<DirectoryEntry> entries;
    while (true) {
      errno = 0;
      const dirent* const listed = ::readdir(open.get());
      if (listed == nullptr) break;
      const std::string_view name = listed->d_name;
      if (name == "." || name == "..") continue;
      if (auto entry = entry_of(::dirfd(open.get()), *listed)) entries.push_back(*std::move(entry));
    }
    if (errno != 0) throw system_error(errno, "list", directory);
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
  }

  void make_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) throw system_error(error.value(), "create folder", path);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0) throw system_error(errno, "rename", from);
  }

  void remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw system_error(errno, "remove", path);
  }

  void remove_empty_directory(const std::string& path) override {
    if (::rmdir(path.c_str()) == 0) return;
    for (const int left : {ENOENT, ENOTEMPTY, EEXIST, ENOTDIR}) {
      if (errno == left) return;
    }
    throw system_error(errno, "remove folder", path);
  }

  void sync_directory(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) throw system_error(errno, "open", path);
    const int failure = ::fsync(fd) == 0 ? 0 : errno;
    ::close(fd);
    // EINVAL: the file system does not support fsync on directories.
    if (failure != 0 && failure != EINVAL) throw system_error(failure, "sync", path);
  }
};

}  // namespace

FileSystem& posix_file_system() {
  static PosixFileSystem instance;
  return instance;
}

}  // namespace recordpipe
