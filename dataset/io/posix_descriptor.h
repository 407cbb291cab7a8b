// A POSIX file descriptor that closes itself, and transfers that are never short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <sys/stat.h>

namespace recordpipe {

// All members throw Error with the path they were opened with.
class PosixDescriptor {
 public:
  // open(2) with O_CLOEXEC; a directory is refused, and a symbolic link where `flags` holds
  // O_NOFOLLOW. `mode` counts where they hold O_CREAT.
  PosixDescriptor(std::string path, int flags, int mode = 0666);
  ~PosixDescriptor();
  PosixDescriptor(const PosixDescriptor&) = delete;
  PosixDescriptor& operator=(const PosixDescriptor&) = delete;

  int get() const { return fd_; }
  const std::string& path() const { return path_; }
  struct stat status() const;
  // Throws where it isn't a regular file.
  void require_regular() const;
  // Fills `out` from `offset`; returns less than out.size() only at the end of the file.
  size_t read_at(uint64_t offset, std::span<std::byte> out) const;
  void write_all(std::span<const std::byte> data);
  void sync();
  // OutputFile::copy_permissions (file.h)
  void copy_permissions(const std::string& from);
  // Reports what the destructor would swallow.
  void close();

 private:
  std::string path_;
  int fd_;
};

// RandomAccessFile::identity() (file.h) of a local file: size, device, inode, modification time.
std::string posix_identity(const struct stat& file);

}  // namespace recordpipe
