#include "python/native/files/python_file.h"

#include <algorithm>
#include <exception>
#include <string>
#include <tuple>
#include <utility>

#include <cxxabi.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <unistd.h>

#include "python/native/files/file_path.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interpreter_exit.h"
#include "python/native/interpreter/interrupt.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"

namespace recordpipe::python {
namespace {

constexpr size_t kLargestBlock = size_t{8} << 20;
constexpr size_t kMaxBlocks = 4;
// Of a stream with a limit, unless its blocks are smaller anyway.
constexpr size_t kSmallestBlock = size_t{64} << 10;
constexpr size_t kSmallestWindow = size_t{64} << 10;
constexpr size_t kLargestWindow = kLargestBlock;
constexpr uint64_t kSmallFile = uint64_t{1} << 20;  // read in one piece
// Of one batch of reads: a fingerprint of a file is one of 18.
constexpr size_t kRangesAtATime = 24;
constexpr size_t kBytesAtATime = size_t{32} << 20;

constexpr char kReplaced[] = "it was replaced while it was read";
constexpr char kReadAgain[] = "read it again from the start";

// The memory of an object with the buffer protocol.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

// Calls a function that may still run when the interpreter ends, as a read that hangs. Python ends
// such a thread by unwinding its stack (gil.h) when it takes the GIL again: the thread sleeps
// instead, until the process has ended. No object may be destroyed on the way, hence the C
// function.
nb::object called(const nb::object& function, const nb::tuple& arguments) {
  PyObject* result = nullptr;
  try {
    result = PyObject_CallObject(function.ptr(), arguments.ptr());
  } catch (const abi::__forced_unwind&) {
    while (true) pause();
  }
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

// Copies what a method has returned for a range at `offset` of a file.
std::span<std::byte> copied(const nb::object& read, const std::string& path, uint64_t offset,
                            const char* method, std::span<std::byte> out) {
  const Buffer buffer(read);
  const auto bytes = buffer.bytes();
  if (bytes.size() > out.size()) {
    throw Error({.kind = ErrorKind::network,
                 .path = path,
                 .offset = offset,
                 .reason = std::string(method) + "() of the file system returned " +
                           std::to_string(bytes.size()) + " bytes, not " +
                           std::to_string(out.size())});
  }
  const GilRelease no_gil;
  std::ranges::copy(bytes, out.begin());
  return out.first(bytes.size());
}

// Returns the number of bytes that one call has read: it may return fewer than out.size().
size_t read_some(const PythonFile& file, uint64_t offset, std::span<std::byte> out) {
  const GilScope gil;
  const ExitGuard guard;
  try {
    const nb::object read =
        called(file.files.object->get().attr("read_range"),
               nb::make_tuple(FilePath{file.path}, offset, out.size(), file.version));
    return copied(read, file.path, offset, "read_range", out).size();
  } catch (nb::python_error& error) {
    throw_file_error(error, file.path);
  }
}

void read_range(const PythonFile& file, uint64_t offset, std::span<std::byte> out) {
  for (size_t filled = 0; filled < out.size();) {
    const size_t count = read_some(file, offset + filled, out.subspan(filled));
    if (count == 0) {
      throw Error({.kind = ErrorKind::network,
                   .path = file.path,
                   .offset = offset + filled,
                   .reason = "it ends here, and had " + std::to_string(file.size) +
                             " bytes when it was opened: " + kReplaced,
                   .hint = kReadAgain});
    }
    filled += count;
  }
}

// What status() and read_head() have returned.
PythonFilePtr file_of(const PythonFiles& files, const std::string& path, const nb::object& status) {
  if (status.is_none()) {
    throw Error({.kind = ErrorKind::not_found,
                 .path = path,
                 .reason = files.is_object_store ? "no such object" : "no such file",
                 .hint = files.is_object_store ? "check the names of its bucket and key" : ""});
  }
  const auto [kind, size, version] =
      nb::cast<std::tuple<std::string, uint64_t, std::string>>(status);
  if (kind != "file") {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = path,
                 .reason = "is a folder",
                 .hint = "name a file"});
  }
  return std::make_shared<const PythonFile>(PythonFile{files, path, size, version});
}

OpenedPythonFile opened_with_head(const PythonFiles& files, const std::string& path, size_t head) {
  const GilScope gil;
  const ExitGuard guard;
  try {
    const nb::object both =
        called(files.object->get().attr("read_head"), nb::make_tuple(FilePath{path}, head));
    if (both.is_none()) return {file_of(files, path, both)};
    OpenedPythonFile opened = {file_of(files, path, both[0])};
    opened.head.resize(std::min<uint64_t>(head, opened.file->size));
    opened.head.resize(copied(both[1], path, 0, "read_head", opened.head).size());
    return opened;
  } catch (nb::python_error& error) {
    throw_file_error(error, path);
  }
}

PythonFilePtr opened_without_head(const PythonFiles& files, const std::string& path) {
  const GilScope gil;
  const ExitGuard guard;
  try {
    return file_of(files, path,
                   called(files.object->get().attr("status"), nb::make_tuple(FilePath{path})));
  } catch (nb::python_error& error) {
    throw_file_error(error, path);
  }
}

ErrorKind kind_of(const nb::python_error& error) {
  if (error.matches(PyExc_FileNotFoundError)) return ErrorKind::not_found;
  if (error.matches(PyExc_PermissionError)) return ErrorKind::permission_denied;
  return ErrorKind::io;
}

std::string text_of(const nb::python_error& error) {
  std::string text = nb::cast<std::string>(error.type().attr("__name__"));
  try {
    const std::string message = nb::cast<std::string>(nb::str(error.value()));
    if (!message.empty()) text += ": " + message;
  } catch (nb::python_error&) {
    // Its __str__() fails: the name must do.
  } catch (const nb::cast_error&) {
    // No UTF-8.
  }
  return text;
}

}  // namespace

void throw_file_error(nb::python_error& error, const std::string& path) {
  const PythonFileError exception(
      {.kind = kind_of(error), .path = path, .reason = text_of(error)},
      PythonException(error, "the file system was asked for " + printable(path)));
  if (keep_if_raised_by_interrupt(std::make_exception_ptr(exception.exception()))) {
    throw_cancelled();
  }
  throw exception;
}

OpenedPythonFilePtr open_python_file(const PythonFiles& files, const std::string& path,
                                     size_t head) {
  auto opened = std::make_shared<OpenedPythonFile>();
  if (files.reads_heads) {
    *opened = opened_with_head(files, path, head);
  } else {
    opened->file = opened_without_head(files, path);
    opened->head.resize(std::min<uint64_t>(head, opened->file->size));
    read_range(*opened->file, 0, opened->head);
  }
  return opened;
}

RangeRead::RangeRead(const PythonFilePtr& file, uint64_t offset, size_t size)
    : offset_(offset), size_(size), call_([file, offset, size] {
        std::vector<std::byte> bytes(size);
        read_range(*file, offset, bytes);
        return bytes;
      }) {}

PythonRandomAccessFile::PythonRandomAccessFile(PythonFilePtr file, std::span<const std::byte> head)
    : file_(std::move(file)),
      stop_(internal::call_stop),
      window_(head.begin(), head.end()),
      window_size_(file_->size <= kSmallFile ? kSmallFile : kSmallestWindow) {}

bool PythonRandomAccessFile::copy_from_window(uint64_t offset, std::span<std::byte> out) const {
  const std::lock_guard lock(mutex_);
  if (offset < window_begin_) return false;
  const uint64_t begin = offset - window_begin_;
  if (begin > window_.size() || out.size() > window_.size() - begin) return false;
  std::ranges::copy(std::span(window_).subspan(begin, out.size()), out.begin());
  return true;
}

std::span<const std::byte> PythonRandomAccessFile::read(uint64_t offset, size_t size,
                                                        std::span<std::byte> scratch) const {
  if (offset >= file_->size || size == 0) return {};
  const auto out = scratch.first(std::min<uint64_t>(size, file_->size - offset));
  if (copy_from_window(offset, out)) return out;
  size_t window = 0;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t end = window_begin_ + window_.size();
    const bool follows =
        !window_.empty() && offset >= window_begin_ && offset <= end + window_size_;
    if (file_->size > kSmallFile) {
      window_size_ = follows ? std::min(2 * window_size_, kLargestWindow) : kSmallestWindow;
    }
    window = window_size_;
  }
  if (out.size() >= window) {
    std::ranges::copy(RangeRead(file_, offset, out.size()).wait(stop_), out.begin());
    return out;
  }
  // A small file is read from its start: other reads are of bytes before these, too.
  const uint64_t begin = file_->size <= kSmallFile ? 0 : offset;
  const RangeRead range(file_, begin, std::min<uint64_t>(window, file_->size - begin));
  std::vector<std::byte>& bytes = range.wait(stop_);
  std::ranges::copy(std::span(bytes).subspan(offset - begin, out.size()), out.begin());
  const std::lock_guard lock(mutex_);
  window_begin_ = begin;
  window_ = std::move(bytes);
  return out;
}

void PythonRandomAccessFile::read_many(std::span<ReadRequest> requests) const {
  if (file_->size <= kSmallFile) return RandomAccessFile::read_many(requests);
  std::vector<ReadRequest*> left;
  for (ReadRequest& request : requests) {
    const uint64_t there = file_->size - std::min(request.offset, file_->size);
    const auto out = request.scratch.first(std::min<uint64_t>(request.size, there));
    request.data = out;
    if (!out.empty() && !copy_from_window(request.offset, out)) left.push_back(&request);
  }
  std::ranges::sort(left, {}, &ReadRequest::offset);
  struct Group {
    RangeRead range;
    std::vector<ReadRequest*> requests;
  };
  std::deque<Group> groups;
  size_t under_way = 0;  // bytes
  const auto finish_one = [&] {
    const Group group = std::move(groups.front());
    groups.pop_front();
    const auto bytes = std::span(group.range.wait(stop_));
    under_way -= bytes.size();
    for (const ReadRequest* request : group.requests) {
      const auto part = bytes.subspan(request->offset - group.range.offset(), request->data.size());
      std::ranges::copy(part, request->scratch.begin());
    }
  };
  for (auto at = left.begin(); at != left.end();) {
    const uint64_t first = (*at)->offset;
    uint64_t end = first + (*at)->data.size();
    const auto begin = at++;
    for (; at != left.end() && (*at)->offset <= end + kSmallestWindow; ++at) {
      const uint64_t longer = std::max(end, (*at)->offset + (*at)->data.size());
      if (longer - first > kLargestWindow) break;
      end = longer;
    }
    while (groups.size() == kRangesAtATime || (!groups.empty() && under_way > kBytesAtATime)) {
      finish_one();
    }
    under_way += end - first;
    groups.push_back({RangeRead(file_, first, end - first), {begin, at}});
  }
  while (!groups.empty()) finish_one();
}

std::string PythonRandomAccessFile::identity() const {
  if (file_->version.empty()) return {};
  return std::to_string(file_->size) + " " + file_->version;
}

PythonSource::PythonSource(OpenedPythonFilePtr opened, std::shared_ptr<ByteBudget> budget)
    : file_(opened->file),
      stop_(internal::call_stop),
      budget_(std::move(budget)),
      head_(std::move(opened)),
      begun_(head_->head.size()),
      block_size_(2 * kStreamHead),
      largest_block_(kLargestBlock),
      max_blocks_(kMaxBlocks),
      is_checked_(file_->files.conditional || file_->version.empty()) {}

PythonSource::~PythonSource() {
  budget_->give_back(charged_);
  for (const Block& block : ahead_) budget_->give_back(block.charged);
}

std::span<const std::byte> PythonSource::current() const {
  return head_ ? std::span<const std::byte>(head_->head) : std::span<const std::byte>(block_);
}

void PythonSource::begin_blocks(uint64_t leave) {
  while (begun_ < file_->size && ahead_.size() < std::min(depth_, max_blocks_)) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(block_size_, file_->size - begun_));
    const bool is_charged = budget_->take(size, leave);
    if (!is_charged && !ahead_.empty()) break;
    ahead_.push_back({RangeRead(file_, begun_, size), is_charged ? size : 0});
    begun_ += size;
    block_size_ = std::min(2 * block_size_, largest_block_);
  }
}

bool PythonSource::next_block() {
  head_.reset();
  block_.clear();
  used_ = 0;
  budget_->give_back(std::exchange(charged_, 0));
  begin_blocks();
  if (ahead_.empty()) return false;
  block_ = std::move(ahead_.front().read.wait(stop_));
  charged_ = ahead_.front().charged;
  ahead_.pop_front();
  depth_ = kMaxBlocks;
  begin_blocks();
  return true;
}

size_t PythonSource::read(std::span<std::byte> out) {
  if (out.empty()) return 0;
  while (used_ == current().size()) {
    if (next_block()) continue;
    if (!std::exchange(is_checked_, true)) check_version();
    return 0;
  }
  const auto rest = current().subspan(used_);
  const size_t count = std::min(rest.size(), out.size());
  std::ranges::copy(rest.first(count), out.begin());
  used_ += count;
  // Not for a reader that wants the first bytes only.
  if (ahead_.empty() && used_ > current().size() / 2) begin_blocks();
  return count;
}

void PythonSource::prefetch() {
  depth_ = kMaxBlocks;
  begin_blocks(kMaxBlocks * kLargestBlock);
}

std::unique_ptr<RandomAccessFile> PythonSource::random_access() {
  // Many large files may be open: of each, only a window is copied.
  const std::span<const std::byte> head = head_->head;
  const size_t copied = head.size() == file_->size ? head.size() : kSmallestWindow;
  return std::make_unique<PythonRandomAccessFile>(file_, head.first(std::min(copied, head.size())));
}

void PythonSource::limit_read_ahead(uint64_t bytes) {
  largest_block_ = static_cast<size_t>(std::clamp<uint64_t>(bytes, kSmallestBlock, kLargestBlock));
  block_size_ = std::min(block_size_, largest_block_);
  max_blocks_ = static_cast<size_t>(std::clamp<uint64_t>(bytes / largest_block_, 1, kMaxBlocks));
}

void PythonSource::check_version() {
  const GilScope gil;
  try {
    const nb::object status = file_->files.object->get().attr("status")(FilePath{file_->path});
    if (!status.is_none() && nb::cast<std::string>(status[2]) == file_->version) return;
  } catch (nb::python_error& error) {
    throw_file_error(error, file_->path);
  }
  throw Error(
      {.kind = ErrorKind::network, .path = file_->path, .reason = kReplaced, .hint = kReadAgain});
}

}  // namespace recordpipe::python
