// Files that a Python object reads: range by range, each on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "dataset/io/byte_budget.h"
#include "python/native/interpreter/abandonable_call.h"
#include "python/native/values/python_object.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"

namespace recordpipe::python {

// A recordpipe.FileSystem (recordpipe/filesystem.py), and its attributes.
struct PythonFiles {
  SharedObject object;
  bool is_object_store = false;
  bool conditional = false;  // read_range() refuses another version
  bool reads_heads = false;  // has read_head()
};

// A file, as it was when it was opened.
struct PythonFile {
  PythonFiles files;
  std::string path;
  uint64_t size = 0;
  std::string version;  // empty if the file system knows none
};
using PythonFilePtr = std::shared_ptr<const PythonFile>;

struct OpenedPythonFile {
  PythonFilePtr file;
  std::vector<std::byte> head = {};  // the first bytes
};
using OpenedPythonFilePtr = std::shared_ptr<const OpenedPythonFile>;

// What a stream reads of a file with the request that opens it.
inline constexpr size_t kStreamHead = size_t{512} << 10;
// The same for random access; nothing if it takes a request of its own.
inline constexpr size_t kRandomHead = size_t{64} << 10;

// Opens a file, and reads up to `head` bytes. Throws Error{not_found}, Error{invalid_argument} for
// a folder, and what the file system raises.
OpenedPythonFilePtr open_python_file(const PythonFiles& files, const std::string& path,
                                     size_t head);

// Throws the exception of a method of the file system, as a PythonFileError for `path`. Needs the
// GIL.
[[noreturn]] void throw_file_error(nb::python_error& error, const std::string& path);

// Reads a range while the caller does something else.
class RangeRead {
 public:
  // `size`: at least 1; the range must be inside of the file.
  RangeRead(const PythonFilePtr& file, uint64_t offset, size_t size);

  uint64_t offset() const { return offset_; }
  size_t size() const { return size_; }
  // Returns the bytes, which the caller may take, or throws what the file system has raised;
  // Error{network} if the file is shorter than it was; Error{cancelled}.
  std::vector<std::byte>& wait(const std::stop_token& stop) const { return call_.wait(stop); }

 private:
  uint64_t offset_;
  size_t size_;
  AbandonableCall<std::vector<std::byte>> call_;
};

// Reads windows, which grow up to 8 MiB while reads follow each other. Larger reads are ranges of
// their own. After a stop request of the thread that opened it (call_stop.h), reads throw
// Error{cancelled}.
class PythonRandomAccessFile final : public RandomAccessFile {
 public:
  // `head`: the first bytes of the file, which it needn't read again.
  PythonRandomAccessFile(PythonFilePtr file, std::span<const std::byte> head);

  uint64_t size() const override { return file_->size; }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override;
  // Combines reads that are near each other, and does up to 24, of 32 MiB together, at a time.
  void read_many(std::span<ReadRequest> requests) const override;
  std::string identity() const override;
  const std::string& path() const override { return file_->path; }

 private:
  bool copy_from_window(uint64_t offset, std::span<std::byte> out) const;

  const PythonFilePtr file_;
  const std::stop_token stop_;
  mutable std::mutex mutex_;  // guards all members below
  mutable uint64_t window_begin_ = 0;
  mutable std::vector<std::byte> window_;
  mutable size_t window_size_;
  const internal::AfterFork renewal_{[this] {
    if (!internal::renew(mutex_)) internal::renew_without_destruction(window_);
  }};
};

// Reads from the start to the end: behind the head, blocks of 1 to 8 MiB, up to 4 of them at a
// time, as far as the budget allows, and at least one. They are begun when half of the head is
// read, or before by prefetch(). Stops as PythonRandomAccessFile does.
class PythonSource final : public ByteSource {
 public:
  PythonSource(OpenedPythonFilePtr opened, std::shared_ptr<ByteBudget> budget);
  ~PythonSource() override;

  size_t read(std::span<std::byte> out) override;
  void prefetch() override;
  void limit_read_ahead(uint64_t bytes) override;
  std::unique_ptr<RandomAccessFile> random_access() override;
  const std::string& path() const override { return file_->path; }

 private:
  struct Block {
    RangeRead read;
    uint64_t charged;  // taken from the budget
  };

  std::span<const std::byte> current() const;
  // `leave`: bytes of the budget that it doesn't use.
  void begin_blocks(uint64_t leave = 0);
  // Returns false at the end of the file.
  bool next_block();
  void check_version();

  const PythonFilePtr file_;
  const std::stop_token stop_;
  const std::shared_ptr<ByteBudget> budget_;
  OpenedPythonFilePtr head_;  // until it is read
  std::vector<std::byte> block_;
  uint64_t charged_ = 0;  // for block_
  size_t used_ = 0;       // bytes of the head or of block_
  std::deque<Block> ahead_;
  uint64_t begun_;  // the end of the last block
  size_t block_size_;
  size_t largest_block_;
  size_t max_blocks_;
  // The most blocks ahead. Few at first: a reader may want the first records only.
  size_t depth_ = 2;
  bool is_checked_;
};

}  // namespace recordpipe::python
