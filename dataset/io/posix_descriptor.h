// RAII for POSIX file descriptors, with complete (never short) transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <sys/stat.h>

#include "recordpipe/io/file.h"

namespace recordpipe {

// All functions throw Error with the path.
class PosixDescriptor {
 public:
  // open(2) with O_CLOEXEC. Throws for a directory, and for a symbolic link if `flags` has
  // O_NOFOLLOW. `mode` applies if `flags` has O_CREAT.
  PosixDescriptor(std::string path, int flags, int mode = 0666);
  ~PosixDescriptor();
  PosixDescriptor(const PosixDescriptor&) = delete;
  PosixDescriptor& operator=(const PosixDescriptor&) = delete;

  int get() const { return fd_; }
  const std::string& path() const { return path_; }
  // The status when the file was opened, and now.
  const struct stat& opened() const { return opened_; }
  struct stat status() const;
  // Throws Error{unsupported} if the file is not a regular file.
  void require_regular() const;
  // Fills `out` with the bytes at `offset`; returns less than out.size() only at the end of the
  // file.
  size_t read_at(uint64_t offset, std::span<std::byte> out) const;
  void write_all(std::span<const std::byte> data);
  // Discards the content that the file had when it was opened. No effect on an empty file: ext4
  // writes a file that was truncated to the disk when it is closed, even if it was empty.
  void truncate();
  void sync();
  // OutputFile::copy_permissions (file.h)
  void copy_permissions(const std::string& from);
  // Throws on failure, unlike the destructor.
  void close();

 private:
  std::string path_;
  int fd_;
  struct stat opened_ = {};
};

// RandomAccessFile::identity() (file.h) of a local file: size, device, inode, modification time.
std::string posix_identity(const struct stat& file);

// Implements FileSystem::map() for the operating system's files.
std::unique_ptr<MappedFile> map_posix_file(const std::string& path);

}  // namespace recordpipe
