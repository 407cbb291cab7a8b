// The operating system's file system behind the interface of file.h.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset/io/posix_files.h"
#include "recordpipe/error.h"
#include "recordpipe/file.h"

namespace recordpipe {
namespace {

class PosixFileSystem final : public FileSystem {
 public:
  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return open_posix_source(path);
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return open_posix_random(path);
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override { return map_posix_file(path); }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    return create_posix_file(path, mode);
  }
  std::unique_ptr<FileLock> lock(const std::string& path) override { return lock_posix_file(path); }

  std::optional<FileStatus> status(const std::string& path) override {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
      throw system_error(errno, "stat", path);
    }
    FileStatus status;
    status.size = static_cast<uint64_t>(info.st_size);
    status.kind = S_ISREG(info.st_mode)   ? FileKind::regular
                  : S_ISDIR(info.st_mode) ? FileKind::directory
                                          : FileKind::other;
    return status;
  }

  std::string resolve_link(const std::string& path) override {
    constexpr int kMostLinks = 40;  // the limit of Linux
    std::filesystem::path found = path;
    for (int i = 0; i < kMostLinks; ++i) {
      std::error_code error;
      const std::filesystem::path next = std::filesystem::read_symlink(found, error);
      if (error) {  // no link, or no such file: opening it will report the error
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
