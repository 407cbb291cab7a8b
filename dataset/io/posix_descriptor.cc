#include "dataset/io/posix_descriptor.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

bool is_link(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

// Returns the error for a failed open(2). ELOOP has two causes: O_NOFOLLOW, or too many links.
Error open_error(int code, int flags, const std::string& path) {
  if (code != ELOOP || (flags & O_NOFOLLOW) == 0 || !is_link(path)) {
    return system_error(code, "open", path);
  }
  return Error({.kind = ErrorKind::already_exists,
                .path = path,
                .reason = "a symbolic link has the name of the file to be written",
                .hint = "its target is not overwritten: remove the link"});
}

}  // namespace

PosixDescriptor::PosixDescriptor(std::string path, int flags, int mode)
    : path_(std::move(path)), fd_(-1) {
  do {
    fd_ = ::open(path_.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode);
  } while (fd_ < 0 && errno == EINTR);
  if (fd_ < 0) throw open_error(errno, flags, path_);
  const int failure = ::fstat(fd_, &opened_) != 0 ? errno : S_ISDIR(opened_.st_mode) ? EISDIR : 0;
  if (failure != 0) {
    ::close(fd_);
    throw system_error(failure, "open", path_);
  }
}

PosixDescriptor::~PosixDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

struct stat PosixDescriptor::status() const {
  struct stat info = {};
  if (::fstat(fd_, &info) != 0) throw system_error(errno, "stat", path_);
  return info;
}

void PosixDescriptor::require_regular() const {
  if (S_ISREG(opened_.st_mode)) return;
  throw Error({.kind = ErrorKind::unsupported,
               .path = path_,
               .reason = "not a regular file",
               .hint = "a pipe or device can only be read sequentially, as a stream"});
}

size_t PosixDescriptor::read_at(uint64_t offset, std::span<std::byte> out) const {
  size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t count =
        ::pread(fd_, out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
    if (count == 0) break;
    if (count > 0) {
      filled += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      throw system_error(errno, "read", path_);
    }
  }
  return filled;
}

void PosixDescriptor::write_all(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t count = ::write(fd_, data.data(), data.size());
    if (count >= 0) {
      data = data.subspan(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      throw system_error(errno, "write", path_);
    }
  }
}

void PosixDescriptor::truncate() {
  if (!S_ISREG(opened_.st_mode) || opened_.st_size == 0) return;
  while (::ftruncate(fd_, 0) != 0) {
    if (errno != EINTR) throw system_error(errno, "truncate", path_);
  }
}

void PosixDescriptor::sync() {
  // Not retried, even after EINTR: Linux may report a lost page once only, so a second fsync that
  // succeeds would prove nothing.
  if (::fsync(fd_) != 0) throw system_error(errno, "sync", path_);
}

void PosixDescriptor::copy_permissions(const std::string& from) {
  struct stat wanted = {};
  if (::stat(from.c_str(), &wanted) != 0) {
    if (errno == ENOENT) return;
    throw system_error(errno, "stat", from);
  }
  constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;
  const mode_t mode = (wanted.st_mode & kPermissions) | S_IRUSR | S_IWUSR;
  // Only if necessary: some file systems do not support fchmod().
  if ((opened_.st_mode & kPermissions) == mode) return;
  if (::fchmod(fd_, mode) != 0) throw system_error(errno, "set the permissions of", path_);
}

std::string posix_identity(const struct stat& file) {
  return std::to_string(file.st_size) + " " + std::to_string(file.st_dev) + ":" +
         std::to_string(file.st_ino) + " " + std::to_string(file.st_mtim.tv_sec) + "." +
         std::to_string(file.st_mtim.tv_nsec);
}

void PosixDescriptor::close() {
  const int fd = std::exchange(fd_, -1);
  // On Linux, the descriptor is closed even after EINTR; closing it again could close another
  // thread's file.
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) throw system_error(errno, "close", path_);
}

}  // namespace recordpipe
