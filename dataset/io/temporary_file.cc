#include "recordpipe/io/temporary_file.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

int open_nameless(const std::string& directory) {
  int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  // Some file systems do not support O_TMPFILE (NFS, overlayfs of old kernels).
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
    throw system_error(errno, "make a temporary file in", directory);
  }
  std::string path = directory + "/.recordpipe-XXXXXX";
  fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) throw system_error(errno, "make a temporary file in", directory);
  ::unlink(path.c_str());
  return fd;
}

}  // namespace

struct TemporaryFile::State {
  std::string directory;
  int fd;
  uint64_t size = 0;

  explicit State(const std::string& where) : directory(where), fd(open_nameless(where)) {}
  ~State() { ::close(fd); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

TemporaryFile::TemporaryFile(const std::string& directory)
    : state_(std::make_unique<State>(directory)) {}

TemporaryFile::~TemporaryFile() = default;
TemporaryFile::TemporaryFile(TemporaryFile&&) noexcept = default;
TemporaryFile& TemporaryFile::operator=(TemporaryFile&&) noexcept = default;

void TemporaryFile::append(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t count = ::write(state_->fd, data.data(), data.size());
    if (count >= 0) {
      state_->size += static_cast<uint64_t>(count);
      data = data.subspan(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      throw system_error(errno, "write a temporary file in", state_->directory);
    }
  }
}

uint64_t TemporaryFile::size() const { return state_->size; }

void TemporaryFile::read_at(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(state_->fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (count > 0) {
      offset += static_cast<uint64_t>(count);
      out = out.subspan(static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      throw system_error(count == 0 ? EIO : errno, "read a temporary file in", state_->directory);
    }
  }
}

}  // namespace recordpipe
