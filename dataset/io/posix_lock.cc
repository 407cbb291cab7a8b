// Locks with flock(2). The lock belongs to the open file description: two holders in one process
// exclude each other, too, and the kernel releases the lock when the process dies.
#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "dataset/io/posix_descriptor.h"
#include "dataset/io/posix_files.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

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

  // Whether the name still refers to the locked file: the previous holder may have renamed or
  // removed it between open and lock.
  bool holds_its_name() const {
    const struct stat mine = descriptor_.status();
    struct stat named = {};
    return ::lstat(descriptor_.path().c_str(), &named) == 0 && named.st_dev == mine.st_dev &&
           named.st_ino == mine.st_ino;
  }

 private:
  PosixDescriptor descriptor_;
};

}  // namespace

std::unique_ptr<FileLock> lock_posix_file(const std::string& path) {
  while (true) {
    auto lock = std::make_unique<PosixLock>(path);
    if (lock->holds_its_name()) return lock;
  }
}

}  // namespace recordpipe
