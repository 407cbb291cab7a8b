#include "dataset/io/posix_descriptor.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "dataset/base/error.h"

namespace recordpipe {

PosixDescriptor::PosixDescriptor(std::string path, int flags, int mode)
    : path_(std::move(path)), fd_(-1) {
  do {
    fd_ = ::open(path_.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode);
  } while (fd_ < 0 && errno == EINTR);
  if (fd_ < 0) throw system_error(errno, "open", path_);
  struct stat info = {};
  const int failure = ::fstat(fd_, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
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
  if (S_ISREG(status().st_mode)) return;
  throw Error({.kind = ErrorKind::unsupported,
               .path = path_,
               .reason = "not a regular file",
               .hint = "a pipe or device can only be read in order, as a stream"});
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

void PosixDescriptor::sync() {
  // Not tried again, even after EINTR: Linux may report a lost page once only, so a second fsync
  // that succeeds would prove nothing.
  if (::fsync(fd_) != 0) throw system_error(errno, "sync", path_);
}

void PosixDescriptor::close() {
  const int fd = std::exchange(fd_, -1);
  // After EINTR the descriptor is closed all the same (Linux); closing again could hit another
  // thread's file.
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) throw system_error(errno, "close", path_);
}

}  // namespace recordpipe
