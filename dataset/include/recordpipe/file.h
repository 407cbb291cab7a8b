// The file system interface of the library.
//
// All code above dataset/io reads and writes through these interfaces, so a test can pass a
// FileSystem whose nth call fails (tests/support/faulty_file_system.h). Every function throws
// recordpipe::Error with the path. Implementations handle EINTR and short transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recordpipe {

// A sequential input: a file, a pipe, the content of a gzip stream, a download.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Writes bytes to the start of `out` and returns their number: at least one, possibly fewer than
  // out.size() (a live source returns the available bytes and does not wait for more); 0 at the end
  // of the source, and at every later call. Throws on failure, after all bytes before it were
  // returned. read_fully() fills a whole buffer.
  virtual size_t read(std::span<std::byte> out) = 0;
  // The name of this source in error messages.
  virtual const std::string& path() const = 0;
};

// A sequential output. It is complete only after close() has returned; the destructor closes
// without reporting failures.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::byte> data) = 0;
  // Writes the buffered bytes and ends the stream, for example with a gzip trailer. Must be called
  // at most once; nothing may be written afterwards.
  virtual void close() = 0;
  virtual const std::string& path() const = 0;
};

// A file that is written sequentially.
class OutputFile : public ByteSink {
 public:
  // Makes the written bytes durable (fsync). A failure is final: sync() is not retried.
  virtual void sync() = 0;
  // Copies the permissions of the file at `path`, if it exists. The owner always gets read and
  // write permission, so that a later process can resume a file left by a killed one.
  virtual void copy_permissions(const std::string& path) = 0;
};

// One of several reads by RandomAccessFile::read_many(): the parameters and the result of read().
struct ReadRequest {
  uint64_t offset = 0;
  size_t size = 0;
  std::span<std::byte> scratch = {};
  std::span<const std::byte> data = {};  // set by read_many()
};

// Advice about a part of a file: changes the time and memory that reading takes, never the result.
enum class ReadHint {
  will_need,  // it is read soon: start to read it into the page cache, without waiting
  done,       // it is not needed soon: unmap its pages from this process (MADV_DONTNEED)
};

// A regular file, open for reading at any offset: a mapping, a file descriptor or a URL.
// Thread-safe.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  // In bytes, when the file was opened.
  virtual uint64_t size() const = 0;
  // A view of the `size` bytes at `offset`; of fewer only at the end of the file. The view points
  // into `scratch`, which must hold `size` bytes, or into the file's own memory. For a stable()
  // file, `scratch` may be empty; the view then points into the file's memory. A mapped file with a
  // scratch copies: for one pass over a large file that is faster than mapping its pages.
  virtual std::span<const std::byte> read(uint64_t offset, size_t size,
                                          std::span<std::byte> scratch) const = 0;
  // Whether the file has its content in memory: views read with an empty scratch are then valid as
  // long as the file is open.
  virtual bool stable() const { return false; }
  // Performs all requests, which may overlap and be in any order. Implementations whose reads are
  // expensive merge neighbouring requests.
  virtual void read_many(std::span<ReadRequest> requests) const;
  virtual void hint(uint64_t /*offset*/, uint64_t /*size*/, ReadHint /*hint*/) const {}
  // Distinguishes versions of the file, as they were when it was opened: the size, and the
  // modification time and inode of a local file, the ETag or Last-Modified of a URL. Empty if
  // nothing is known (default); pipelines then compare the size and 72 KiB of the content.
  virtual std::string identity() const { return {}; }
  // True after another program truncated the file, and for a mapped file also after a page could
  // not be read because the device failed. Such parts of a mapped file read as zeros; the process
  // is not killed by SIGBUS. Other files return fewer bytes, and throw if the device fails.
  virtual bool damaged() const { return false; }
  virtual const std::string& path() const = 0;

  // Fills `out` with the bytes at `offset` and returns their number: less than out.size() only at
  // the end of the file.
  size_t read_at(uint64_t offset, std::span<std::byte> out) const;
};

// A memory-mapped regular file, read-only. Always stable().
class MappedFile : public RandomAccessFile {
 public:
  // The whole file.
  virtual std::span<const std::byte> bytes() const = 0;

  uint64_t size() const override { return bytes().size(); }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override;
  bool stable() const final { return true; }
};

// An exclusive lock, held until its destruction; the kernel releases it when the process dies.
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
  truncate,  // discard the content of an existing file
  append,    // append to an existing file
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Opens a file, FIFO or device for sequential reading. Throws Error{invalid_argument} for a
  // directory.
  virtual std::unique_ptr<ByteSource> open_source(const std::string& path) = 0;
  // Both accept regular files only; Error{unsupported} for a FIFO or device,
  // Error{invalid_argument} for a directory. open_random() is for a few reads, and for files that
  // can't be mapped; map() for readers that need stable() views. An empty file maps to an empty
  // span.
  virtual std::unique_ptr<RandomAccessFile> open_random(const std::string& path) = 0;
  virtual std::unique_ptr<MappedFile> map(const std::string& path) = 0;
  // Throws Error{already_exists} if `path` itself is a symbolic link: its target is not
  // overwritten.
  virtual std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) = 0;

  // Follows symbolic links; empty if there is no such file.
  virtual std::optional<FileStatus> status(const std::string& path) = 0;
  // The path that a write to `path` reaches: the target of a symbolic link, through any number of
  // links, whether or not the target exists; `path` itself if it is no link.
  virtual std::string resolve_link(const std::string& path) = 0;
  // The names in a directory, sorted, without "." and "..".
  virtual std::vector<std::string> list(const std::string& directory) = 0;
  // Creates `path` and its missing parents.
  virtual void make_directories(const std::string& path) = 0;
  // Replaces `to` atomically.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // No-op if there is no such file.
  virtual void remove(const std::string& path) = 0;
  // No-op for a directory that is not empty, a missing one, and a link to one.
  virtual void remove_empty_directory(const std::string& path) = 0;
  // Makes the directory's entries durable (fsync).
  virtual void sync_directory(const std::string& path) = 0;
  // Creates `path` if it does not exist, and locks it. Throws Error{busy} if it is locked, also by
  // this process, and Error{already_exists} for a symbolic link.
  virtual std::unique_ptr<FileLock> lock(const std::string& path) = 0;
};

// The operating system's file system. Thread-safe; lives as long as the process.
FileSystem& posix_file_system();

// The directory of `path` ("." for a bare name).
std::string parent_directory(const std::string& path);

// Throws Error{invalid_argument} if `path` exists and is no regular file: renaming a file onto it
// would fail late, or replace a device.
void require_replaceable(FileSystem& file_system, const std::string& path);

// Reads until `out` is full or the source ends; returns the number of bytes.
size_t read_fully(ByteSource& source, std::span<std::byte> out);

struct PeekedSource {
  std::vector<std::byte> head;         // the first bytes of the source
  std::unique_ptr<ByteSource> source;  // returns the whole source, `head` included
};

// Reads the first `size` bytes of `source`, fewer if it ends before.
PeekedSource peek(std::unique_ptr<ByteSource> source, size_t size);

// Reads a source to its end. Throws Error{limit_exceeded} if it has more than `limit` bytes.
std::vector<std::byte> read_all(ByteSource& source, size_t limit);

}  // namespace recordpipe
