#include "dataset/applications/process/standard_descriptors.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace recordpipe {
namespace {

bool is_closed(int fd) { return ::fcntl(fd, F_GETFD) == -1 && errno == EBADF; }

}  // namespace

// In this order, because open(2) returns the lowest free descriptor.
void open_standard_descriptors() {
  if (is_closed(STDIN_FILENO)) ::open("/dev/null", O_WRONLY);   // can't be read: EBADF
  if (is_closed(STDOUT_FILENO)) ::open("/dev/null", O_RDONLY);  // can't be written
  if (is_closed(STDERR_FILENO)) ::open("/dev/null", O_WRONLY);
}

}  // namespace recordpipe
