// The file system interface of the library.
//
// The layers above dataset/io read and write files only through these interfaces, so a test can
// pass a FileSystem whose nth call fails (tests/support/faulty_file_system.h). A function that
// fails throws recordpipe::Error with the path. Implementations handle EINTR and short transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

class RandomAccessFile;

// A sequential input: a file, a pipe, the content of a gzip stream, a download.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Writes bytes to the start of `out` and returns their number: at least one, possibly fewer than
  // out.size() (a live source returns the available bytes and does not wait for more). Returns 0 at
  // the end of the source and on every later call. Throws on failure, after all bytes before the
  // failure were returned. read_fully() fills a whole buffer.
  virtual size_t read(std::span<std::byte> out) = 0;
  // Advice that the source will be read soon: one that reads ahead begins to (default: no effect).
  virtual void prefetch() {}
  // Limits the memory that reading ahead takes, in bytes; at least one request is in flight
  // (default: no effect). Must be called before the first read() and prefetch().
  virtual void limit_read_ahead(uint64_t /*bytes*/) {}
  // Returns random access to the same file, which requests nothing that was read already; null if
  // the source has none (default). Must be called before the first read().
  virtual std::unique_ptr<RandomAccessFile> random_access();
  // The name of this source in error messages.
  virtual const std::string& path() const = 0;
};

// A sequential output. It is complete only after close() has returned. The destructor closes the
// output without reporting failures.
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
  // write permission, so that a later process can resume a file left by a process that was killed.
  virtual void copy_permissions(const std::string& path) = 0;
};

// A new file, or the new content of one, in a file system without rename(): nothing is under the
// name before commit(). The destructor discards what was not committed. Not thread-safe.
class Upload {
 public:
  virtual ~Upload() = default;
  virtual void write(std::span<const std::byte> data) = 0;
  // Ends the writing: only commit() may follow. Frees most of the memory, for uploads that wait for
  // others to be finished.
  virtual void finish() = 0;
  // The content appears at once. Calls finish() if necessary. A failure is final.
  virtual void commit() = 0;
};

// A request for RandomAccessFile::read_many(): the parameters and the result of one read().
struct ReadRequest {
  uint64_t offset = 0;
  size_t size = 0;
  std::span<std::byte> scratch = {};
  std::span<const std::byte> data = {};  // set by read_many()
};

// Advice about a range of a file. It affects the time and memory that reading takes, never the
// result.
enum class ReadHint {
  // Will be read soon: start to read the range into the page cache, without waiting. A file at a
  // distance sends a request, whose response the next read inside this range waits for.
  will_need,
  done,  // won't be needed soon: unmap its pages from this process (MADV_DONTNEED)
};

// A regular file that is open for reading at any offset. The implementation uses a mapping, a file
// descriptor or a URL. Thread-safe.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  // The size in bytes when the file was opened.
  virtual uint64_t size() const = 0;
  // Returns a view of the `size` bytes at `offset`. The view is shorter only at the end of the
  // file. It points into `scratch`, which must hold `size` bytes, or into the file's own memory.
  // For a stable() file, `scratch` may be empty; the view then points into the file's memory. If
  // `scratch` is not empty, a mapped file copies the bytes into it. For a single pass over a large
  // file, copying is faster than mapping the pages.
  virtual std::span<const std::byte> read(uint64_t offset, size_t size,
                                          std::span<std::byte> scratch) const = 0;
  // Whether the file has its content in memory. Views read with an empty scratch are then valid as
  // long as the file is open.
  virtual bool stable() const { return false; }
  // Performs all requests, which may overlap and be in any order. Implementations with expensive
  // reads merge neighbouring requests.
  virtual void read_many(std::span<ReadRequest> requests) const;
  virtual void hint(uint64_t /*offset*/, uint64_t /*size*/, ReadHint /*hint*/) const {}
  // Identifies the version of the file that was opened. Contains the size, and for a local file the
  // modification time and inode, for a URL the ETag or Last-Modified. Empty if the version is
  // unknown (default); pipelines then compare the size and 72 KiB of the content.
  virtual std::string identity() const { return {}; }
  // Returns true after another program has truncated the file. For a mapped file, also returns true
  // after a page could not be read because the device failed. The lost parts of a mapped file read
  // as zeros; the process is not killed by SIGBUS. For other files, read() returns fewer bytes
  // after a truncation, and throws if the device fails.
  virtual bool damaged() const { return false; }
  virtual const std::string& path() const = 0;

  // Fills `out` with the bytes at `offset` and returns their number: less than out.size() only at
  // the end of the file.
  size_t read_at(uint64_t offset, std::span<std::byte> out) const;
};

// A memory-mapped regular file, read-only. Always stable().
class MappedFile : public RandomAccessFile {
 public:
  // The content of the whole file.
  virtual std::span<const std::byte> bytes() const = 0;

  uint64_t size() const override { return bytes().size(); }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override;
  bool stable() const final { return true; }
};

// An exclusive lock. The destructor releases it; the kernel releases it when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
  // Whether the path is still the locked file. After it was removed or replaced, another holder can
  // have a lock of the same path. Always true for file systems without locks. Throws the file
  // system's error if it can't be found out.
  virtual bool holds_its_name() const { return true; }
};

enum class FileKind { regular, directory, other };  // other: FIFO, device, socket

struct FileStatus {
  FileKind kind = FileKind::regular;
  uint64_t size = 0;
};

// A file or folder in a directory.
struct DirectoryEntry {
  std::string name = {};
  // Of the link's target, if the entry is a symbolic link; `other` if the target can't be reached.
  FileKind kind = FileKind::regular;
  bool is_link = false;
  std::optional<uint64_t> size = {};  // only if the listing has it at no further cost
};

enum class CreateMode {
  truncate,  // discard the content of an existing file
  append,    // append to an existing file
};

// Waits until a file is open whose opening was begun. Must be called at most once. Throws the
// errors of open_source() or open_random().
template <class File>
using Opening = std::function<std::unique_ptr<File>()>;

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Opens a file, FIFO or device for sequential reading. Throws Error{invalid_argument} for a
  // directory.
  virtual std::unique_ptr<ByteSource> open_source(const std::string& path) = 0;
  // open_random() and map() accept regular files only. They throw Error{unsupported} for a FIFO or
  // device, and Error{invalid_argument} for a directory. Use open_random() for a few reads and for
  // files that can't be mapped, and map() for readers that need stable() views. map() maps an empty
  // file to an empty span.
  virtual std::unique_ptr<RandomAccessFile> open_random(const std::string& path) = 0;
  virtual std::unique_ptr<MappedFile> map(const std::string& path) = 0;
  // Begin to open a file, without waiting; the Opening throws the errors. The defaults leave all to
  // it; a file system at a distance sends the first request. It must outlive the Opening.
  virtual Opening<ByteSource> start_source(const std::string& path);
  virtual Opening<RandomAccessFile> start_random(const std::string& path);
  // Whether regular files with such a path can be mapped: not those of servers. Needs no request.
  virtual bool can_map(const std::string& /*path*/) { return true; }
  // Throws Error{already_exists} if `path` itself is a symbolic link; the link's target is not
  // overwritten.
  virtual std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) = 0;

  // Follows symbolic links. Returns nullopt if there is no such file.
  virtual std::optional<FileStatus> status(const std::string& path) = 0;
  // Returns the path that a write to `path` reaches. This is the target of a symbolic link, through
  // any number of links, even if the target does not exist; `path` itself if it is not a link, as
  // by default.
  virtual std::string resolve_link(const std::string& path) { return path; }
  // Lists the names in a directory, sorted, without "." and "..". The default has the names of
  // list_entries(): override one of the two, or both.
  virtual std::vector<std::string> list(const std::string& directory);
  // The same names with their kinds, from one listing. The default calls status() for each name;
  // file systems whose listings contain the kinds (readdir, object stores) override it. Leaves out
  // names that were removed meanwhile.
  virtual std::vector<DirectoryEntry> list_entries(const std::string& directory);
  // Whether `path` is a directory; follows symbolic links. The default calls status(). A file
  // system whose directories are prefixes of names may tell from the name, without a request.
  virtual bool is_directory(const std::string& path);
  // Whether the files are read over the network, by sources that read ahead, so that many should be
  // opened at a time, on any threads (default: false).
  virtual bool reads_ahead(const std::string& /*path*/) { return false; }
  // Creates `path` and its missing parents.
  virtual void make_directories(const std::string& path) = 0;
  // Replaces `to` atomically.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // No-op if there is no such file.
  virtual void remove(const std::string& path) = 0;
  // No-op if `path` is missing, is a directory that is not empty, or is not a directory. (A
  // symbolic link to a directory is not a directory.)
  virtual void remove_empty_directory(const std::string& path) = 0;
  // Makes the directory's entries durable (fsync).
  virtual void sync_directory(const std::string& path) = 0;
  // Begins to replace or create the file at `path`; null (default) in a file system in which a file
  // beside it is written and renamed. AtomicFile does either. Throws Error{invalid_argument} for a
  // directory.
  virtual std::unique_ptr<Upload> begin_upload(const std::string& path);
  // Creates `path` if it does not exist, and locks it. Throws Error{busy} if another holder,
  // possibly in this process, has locked it, and Error{already_exists} for a symbolic link.
  virtual std::unique_ptr<FileLock> lock(const std::string& path) = 0;

  // The entries of list_entries() whose names start with `prefix`. The default lists all of them;
  // an object store requests these only.
  virtual std::vector<DirectoryEntry> list_entries_with_prefix(const std::string& directory,
                                                               std::string_view prefix);
};

// Returns the operating system's file system. It is thread-safe and lives as long as the process.
FileSystem& posix_file_system();

// Returns the directory of `path` ("." for a path without a slash).
std::string parent_directory(const std::string& path);

// The size of a regular file; nullopt for any other file, and if there is none. Opening a FIFO, for
// example, would wait for its writer.
std::optional<uint64_t> regular_file_size(FileSystem& file_system, const std::string& path);

// Throws Error{invalid_argument} if `path` exists and is not a regular file: otherwise, renaming a
// file to `path` would fail late, or replace a device.
void require_replaceable(FileSystem& file_system, const std::string& path);

// Reads until `out` is full or the source ends. Returns the number of bytes read.
size_t read_fully(ByteSource& source, std::span<std::byte> out);

struct PeekedSource {
  std::vector<std::byte> head;         // the first bytes of the source
  std::unique_ptr<ByteSource> source;  // returns the whole source, `head` included
};

// Reads the first `size` bytes of `source`, or all bytes if it is shorter.
PeekedSource peek(std::unique_ptr<ByteSource> source, size_t size);

// Reads `source` to its end. Throws Error{limit_exceeded} if it has more than `limit` bytes.
std::vector<std::byte> read_all(ByteSource& source, size_t limit);

}  // namespace recordpipe
