#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <archive.h>
#include <archive_entry.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/toolkit/numpy.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxArrays = 100'000;
constexpr size_t kBufferSize = size_t{256} << 10;
constexpr std::string_view kEnding = ".npy";

[[noreturn]] void fail(ErrorKind kind, const std::string& path, std::string reason) {
  throw Error({.kind = kind, .path = path, .reason = std::move(reason)});
}

// Reads a zip file: with random access if possible, because the list of members is at the end of
// the file; otherwise as a stream.
class ZipReader {
 public:
  // Either `file` or `stream` must be null.
  ZipReader(std::unique_ptr<RandomAccessFile> file, std::unique_ptr<ByteSource> stream,
            const std::function<void(uint64_t)>& on_read)
      : file_(std::move(file)),
        stream_(std::move(stream)),
        on_read_(on_read),
        buffer_(kBufferSize),
        zip_(archive_read_new()) {
    if (!zip_) throw std::bad_alloc();
    check(archive_read_support_format_zip(zip_.get()));
    if (file_) check(archive_read_set_seek_callback(zip_.get(), seek));
    check(archive_read_open(zip_.get(), this, nullptr, read_block, nullptr));
  }

  const std::string& path() const { return file_ ? file_->path() : stream_->path(); }

  // Advances to the next member and returns its name, or std::nullopt at the end.
  std::optional<std::string> next() {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(zip_.get(), &entry);
    if (result == ARCHIVE_EOF) return std::nullopt;
    check(result);
    const char* const name = archive_entry_pathname_utf8(entry);
    if (!name) fail(ErrorKind::corrupted, path(), "a member whose name is not UTF-8");
    return name;
  }

  // Fills `out` from the member. Returns less than out.size() only at the end of the member.
  size_t read(std::span<std::byte> out) {
    size_t filled = 0;
    while (filled < out.size()) {
      const la_ssize_t count =
          archive_read_data(zip_.get(), out.data() + filled, out.size() - filled);
      check(count);
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    return filled;
  }

 private:
  struct FreeArchive {
    void operator()(archive* a) const { archive_read_free(a); }
  };

  // libarchive's read callbacks. Exceptions must not propagate through its C code.
  static la_ssize_t read_block(archive* a, void* self, const void** block) {
    auto& reader = *static_cast<ZipReader*>(self);
    try {
      *block = reader.buffer_.data();
      return static_cast<la_ssize_t>(reader.read_block());
    } catch (...) {
      reader.failure_ = std::current_exception();
      archive_set_error(a, EIO, "reading failed");
      return ARCHIVE_FATAL;
    }
  }
  static la_int64_t seek(archive*, void* self, la_int64_t offset, int whence) {
    auto& reader = *static_cast<ZipReader*>(self);
    const auto size = static_cast<la_int64_t>(reader.file_->size());
    const la_int64_t from = whence == SEEK_END   ? size
                            : whence == SEEK_CUR ? static_cast<la_int64_t>(reader.place_)
                                                 : 0;
    const la_int64_t place = std::clamp<la_int64_t>(from + offset, 0, size);
    reader.place_ = static_cast<uint64_t>(place);
    return place;
  }

  size_t read_block() {
    const size_t size = stream_ ? stream_->read(buffer_) : file_->read_at(place_, buffer_);
    place_ += size;
    if (on_read_) on_read_(size);
    return size;
  }

  void check(la_ssize_t result) {
    if (failure_) std::rethrow_exception(failure_);
    if (result >= ARCHIVE_WARN) return;
    const char* const reason = archive_error_string(zip_.get());
    fail(ErrorKind::corrupted, path(), reason ? reason : "not a zip file");
  }

  std::unique_ptr<RandomAccessFile> file_;
  std::unique_ptr<ByteSource> stream_;
  const std::function<void(uint64_t)>& on_read_;
  std::vector<std::byte> buffer_;
  uint64_t place_ = 0;  // position in file_
  std::exception_ptr failure_;
  std::unique_ptr<archive, FreeArchive> zip_;
};

NpyHeader parse_header(std::span<const std::byte> head, const std::string& path) {
  try {
    return parse_npy_header(head);
  } catch (const Error& error) {
    throw Error(
        {.kind = error.kind(), .path = path, .reason = error.reason(), .hint = error.hint()});
  }
}

NpzArray read_member(ZipReader& zip, std::string name, const std::string& path,
                     const NumpyReadOptions& options, const std::shared_ptr<TemporaryFile>& file) {
  std::vector<std::byte> buffer(std::max(kBufferSize, kMaxNpyHeader));
  size_t count = zip.read(buffer);
  NpzArray array = {std::move(name), parse_header(std::span(buffer).first(count), path), file,
                    file->size()};
  const uint64_t size =
      array.header.rows() == 0 ? 0 : array.header.rows() * array.header.row_bytes();
  std::span<const std::byte> values = std::span(buffer).first(count);
  values = values.subspan(array.header.data_begin);
  while (true) {
    throw_if_stopped(options.stop, path);
    if (file->size() - array.begin + values.size() > size) {
      fail(ErrorKind::corrupted, path, "longer than its header specifies");
    }
    file->append(values);
    count = zip.read(buffer);
    if (count == 0) break;
    values = std::span(buffer).first(count);
  }
  if (file->size() - array.begin < size)
    fail(ErrorKind::truncated, path, "shorter than its header specifies");
  return array;
}

std::vector<NpzArray> read_all_arrays(ZipReader& zip, const NumpyReadOptions& options) {
  std::vector<NpzArray> arrays;
  std::unordered_set<std::string> names;
  const auto file = std::make_shared<TemporaryFile>(options.temporary_directory);
  while (std::optional<std::string> member_name = zip.next()) {
    std::string& name = *member_name;
    const std::string member = zip.path() + ":" + name;
    if (!name.ends_with(kEnding)) {
      fail(ErrorKind::unsupported, member, "its name doesn't end in .npy, so it is no array");
    }
    name.resize(name.size() - kEnding.size());
    if (!names.insert(name).second) fail(ErrorKind::corrupted, member, "duplicate member");
    if (arrays.size() == kMaxArrays)
      fail(ErrorKind::limit_exceeded, zip.path(), "more than 100,000 arrays");
    arrays.push_back(read_member(zip, std::move(name), member, options, file));
  }
  return arrays;
}

}  // namespace

std::vector<NpzArray> read_npz(std::unique_ptr<RandomAccessFile> file,
                               const NumpyReadOptions& options) {
  ZipReader zip(std::move(file), nullptr, options.on_read);
  return read_all_arrays(zip, options);
}

std::vector<NpzArray> read_npz(std::unique_ptr<ByteSource> source,
                               const NumpyReadOptions& options) {
  ZipReader zip(nullptr, std::move(source), options.on_read);
  return read_all_arrays(zip, options);
}

struct NpzWriter::State {
  explicit State(ByteSink& out) : sink(out), zip(archive_write_new()) {
    if (!zip) throw std::bad_alloc();
    archive_write_set_format_zip(zip);
    archive_write_zip_set_compression_store(zip);
    // Marks the names as UTF-8.
    check(archive_write_set_options(zip, "hdrcharset=UTF-8"));
    // No padding after the last block.
    archive_write_set_bytes_in_last_block(zip, 1);
    check(archive_write_open(zip, this, nullptr, write_block, nullptr));
  }
  // archive_write_free() closes the archive, and only closing frees all memory (so
  // archive_write_fail() isn't used). `over` prevents further writes.
  ~State() {
    over = true;
    archive_write_free(zip);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Exceptions must not propagate through libarchive's C code.
  static la_ssize_t write_block(archive* a, void* state, const void* data, size_t size) {
    auto& self = *static_cast<State*>(state);
    if (self.over || self.failure) return -1;
    try {
      self.sink.write({static_cast<const std::byte*>(data), size});
      return static_cast<la_ssize_t>(size);
    } catch (...) {
      self.failure = std::current_exception();
      archive_set_error(a, EIO, "writing failed");
      return -1;
    }
  }

  void check(la_ssize_t result) {
    if (failure) std::rethrow_exception(failure);
    if (result >= ARCHIVE_WARN) return;
    const char* const reason = archive_error_string(zip);
    throw Error({.kind = ErrorKind::io,
                 .path = sink.path(),
                 .reason = reason ? reason : "the zip file can't be written"});
  }

  ByteSink& sink;
  archive* zip;
  std::exception_ptr failure = nullptr;
  bool over = false;
};

NpzWriter::NpzWriter(ByteSink& sink) : state_(std::make_unique<State>(sink)) {}
NpzWriter::~NpzWriter() = default;

void NpzWriter::begin(const std::string& name, uint64_t size) {
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                            &archive_entry_free);
  if (!entry) throw std::bad_alloc();
  archive_entry_set_pathname_utf8(entry.get(), (name + ".npy").c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<int64_t>(size));
  state_->check(archive_write_header(state_->zip, entry.get()));
}

void NpzWriter::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const la_ssize_t count = archive_write_data(state_->zip, data.data(), data.size());
    state_->check(count);
    data = data.subspan(static_cast<size_t>(count));
  }
}

void NpzWriter::close() { state_->check(archive_write_close(state_->zip)); }

}  // namespace recordpipe
