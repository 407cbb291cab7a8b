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

// One of several reads by RandomAccessFile::read_many(): the parameters and the result of read().
struct ReadRequest {
  uint64_t offset = 0;
  size_t size = 0;
  std::span<std::byte> scratch = {};
  std::span<const std::byte> data = {};  // set by read_many()
};

// Advice about a part of a file. It changes time and memory, never results.
enum class ReadHint {
  will_need,  // read soon: start fetching it, without waiting
  done,       // not needed soon: the memory of its pages can be reclaimed
};

// A regular file open for reading at any place: a mapping, a file descriptor, a URL. Safe to call
// from several threads.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  // When it was opened.
  virtual uint64_t size() const = 0;
  // `size` bytes from `offset` on, or those up to the end of the file. The view points into
  // `scratch`, which must hold `size` bytes, or into memory of the file. If the file is stable(),
  // `scratch` may be empty: the view then points into memory of the file. A mapped file copies into
  // a `scratch` that is not empty where copying is faster than mapping pages.
  virtual std::span<const std::byte> read(uint64_t offset, size_t size,
                                          std::span<std::byte> scratch) const = 0;
  // Whether the file is in memory of its own: views that were read with an empty scratch remain
  // valid as long as the file is open.
  virtual bool stable() const { return false; }
  // Performs all requests, in any order; they may overlap. A file for which a read is expensive
  // reads neighbouring requests together.
  virtual void read_many(std::span<ReadRequest> requests) const;
  virtual void hint(uint64_t /*offset*/, uint64_t /*size*/, ReadHint /*hint*/) const {}
  // Tells one version of the file from another, as far as the file system does: the size, and the
  // modification time and inode of a local file, the ETag or Last-Modified of a URL. Refers to the
  // file that was opened. Empty if nothing is known.
  virtual std::string identity() const { return {}; }
  // True once the file was found shorter than when it was opened. For a mapped file also if a page
  // could not be read; its bytes are zeros then, and the process is not killed by SIGBUS. Files
  // that are not mapped throw on a read error, and give fewer bytes behind a cut.
  virtual bool damaged() const { return false; }
  virtual const std::string& path() const = 0;

  // Fills `out` from `offset`; returns less than out.size() only at the end of the file.
  size_t read_at(uint64_t offset, std::span<std::byte> out) const;
};

// A file whose content is memory: mapped, read-only. Always stable().
class MappedFile : public RandomAccessFile {
 public:
  // The whole file; an empty span for an empty file.
  virtual std::span<const std::byte> bytes() const = 0;

  uint64_t size() const override { return bytes().size(); }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override;
  bool stable() const final { return true; }
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
  // These two take regular files only. open_random() is for reads at a few places, and for what
  // can't be mapped; map() is for readers that need stable() views.
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
