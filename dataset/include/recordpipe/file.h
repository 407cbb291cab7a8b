// The File seam: everything this project asks of a file system.
//
// All code above dataset/io reads and writes through these interfaces, so that a test can hand in
// a FileSystem whose nth call fails (tests/support/faulty_file_system.h). Every function throws
// recordpipe::Error with the path; EINTR and short transfers are dealt with below the seam.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recordpipe {

// Bytes in order, read once: a file, a pipe, the inside of a gzip stream, a download.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Puts bytes at the start of `out` and returns how many: at least one, and perhaps fewer than
  // fit, because a live source gives what has come and doesn't wait for more; 0 only at its end,
  // and ever after. A failure throws, after the bytes before it were given. Where it must be so
  // many bytes and no fewer: read_fully().
  virtual size_t read(std::span<std::byte> out) = 0;
  // What error messages call this source.
  virtual const std::string& path() const = 0;
};

// Bytes in order, written once. What was written is whole only after close() has returned; the
// destructor closes without saying what failed.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::byte> data) = 0;
  // Writes what is buffered and ends the stream (a gzip trailer, say). Once.
  virtual void close() = 0;
  virtual const std::string& path() const = 0;
};

// A file open for writing at its end.
class OutputFile : public ByteSink {
 public:
  // Makes what was written survive a power loss. A failure is final: it is not tried again.
  virtual void sync() = 0;
  // Gives it the permissions of the file at `path`, if there is one. Its owner can always read and
  // write it, so that what a killed process leaves behind can be taken up.
  virtual void copy_permissions(const std::string& path) = 0;
};

// A regular file open for reading at any place. Safe to call from several threads.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual uint64_t size() const = 0;  // when it was opened
  // Fills `out` from `offset`; returns less than out.size() only at the end of the file.
  virtual size_t read_at(uint64_t offset, std::span<std::byte> out) const = 0;
  virtual const std::string& path() const = 0;
};

// A regular file mapped into memory, read-only. Safe to read from several threads.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual std::span<const std::byte> bytes() const = 0;
  // True once a page could not be read because another program cut the file short, or because the
  // device failed. Bytes read from such a page are zeros; the process is not killed by SIGBUS.
  virtual bool damaged() const = 0;
  // Says that `size` bytes from `offset` on were read and aren't needed soon: the memory that their
  // pages take of this process's is given back. They may be read again all the same. For whoever
  // goes through a file that is larger than what he may keep.
  virtual void release(uint64_t /*offset*/, uint64_t /*size*/) const {}
  // Advice to start reading `size` bytes from `offset` on into memory; doesn't wait for them.
  virtual void will_need(uint64_t /*offset*/, uint64_t /*size*/) const {}
  // Fills `out`, which lies within the file; with zeros where that is damaged(). For whoever goes
  // through a large file once: pages that are copied needn't be mapped, which takes longer.
  virtual void read(uint64_t offset, std::span<std::byte> out) const;
  virtual const std::string& path() const = 0;
};

// An exclusive lock, held until it is destroyed; the kernel drops it when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class FileKind { regular, directory, other };  // other: FIFO, device, socket

struct FileStatus {
  FileKind kind = FileKind::regular;
  uint64_t size = 0;
};

enum class CreateMode {
  truncate,  // empty it if it is there
  append,    // go on at its end
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Opens a file, FIFO or device for reading in order. Refuses directories.
  virtual std::unique_ptr<ByteSource> open_source(const std::string& path) = 0;
  // These two take regular files only. An empty file maps to an empty span.
  virtual std::unique_ptr<RandomAccessFile> open_random(const std::string& path) = 0;
  virtual std::unique_ptr<MappedFile> map(const std::string& path) = 0;
  // Refuses a symbolic link at `path` itself: what it leads to is not to be overwritten.
  virtual std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) = 0;

  // Follows links; nothing where there is no such file.
  virtual std::optional<FileStatus> status(const std::string& path) = 0;
  // Where a file of this name is, or would be written: what a symbolic link at `path` leads to,
  // through any number of links and even where nothing is there; `path` itself where it isn't one.
  virtual std::string resolve_link(const std::string& path) = 0;
  // Names in a folder, sorted, without . and ..
  virtual std::vector<std::string> list(const std::string& directory) = 0;
  virtual void make_directories(const std::string& path) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& path) = 0;  // no error where there is none
  // Leaves a folder that something is in, and a link to one.
  virtual void remove_empty_directory(const std::string& path) = 0;
  virtual void sync_directory(const std::string& path) = 0;
  // Makes `path` if it isn't there and locks it. Throws Error{busy} if another holder has it.
  // Refuses a symbolic link, as create() does.
  virtual std::unique_ptr<FileLock> lock(const std::string& path) = 0;
};

// The operating system's. Lives as long as the process.
FileSystem& posix_file_system();

// The folder that holds `path` ("." for a bare name).
std::string parent_directory(const std::string& path);

// Throws Error{invalid_argument} where `path` is a folder, a device or the like: a file that is
// renamed onto it would fail late, or replace the device.
void require_replaceable(FileSystem& file_system, const std::string& path);

// Reads until `out` is full or the source ends, and returns how many bytes that were.
size_t read_fully(ByteSource& source, std::span<std::byte> out);

struct PeekedSource {
  std::vector<std::byte> head;         // the first bytes of the source, to look at
  std::unique_ptr<ByteSource> source;  // gives them again, then the rest
};

// Reads the first `size` bytes of `source` ahead, or all there are.
PeekedSource peek(std::unique_ptr<ByteSource> source, size_t size);

// Reads a source to its end. Throws Error{limit_exceeded} past `limit` bytes.
std::vector<std::byte> read_all(ByteSource& source, size_t limit);

}  // namespace recordpipe
