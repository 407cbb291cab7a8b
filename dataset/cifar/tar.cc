#include "dataset/cifar/tar.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <utility>

#include <archive.h>
#include <archive_entry.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr uint64_t kTarBlock = 512;

struct FreeReader {
  void operator()(archive* a) const { archive_read_free(a); }
};

}  // namespace

struct TarReader::State {
  State(ReadAhead& source, const TarLimits& tar_limits)
      : tar(source), limits(tar_limits), handle(archive_read_new()) {
    if (!handle) throw std::bad_alloc();
    check(archive_read_support_format_tar(handle.get()));
    check(archive_read_open(handle.get(), this, nullptr, give_block, nullptr));
  }

  // libarchive's read callback. Exceptions must not propagate through its C code.
  static la_ssize_t give_block(archive* a, void* state, const void** block) {
    auto& self = *static_cast<State*>(state);
    try {
      const auto bytes = self.take_block();
      *block = bytes.data();
      return static_cast<la_ssize_t>(bytes.size());
    } catch (...) {
      self.failure = std::current_exception();
      archive_set_error(a, EIO, "reading failed");
      return ARCHIVE_FATAL;
    }
  }

  std::span<const std::byte> take_block() {
    const auto bytes = tar.next();
    bytes_read += bytes.size();
    is_exhausted = bytes.empty();
    const auto last = std::find_if(bytes.rbegin(), bytes.rend(),
                                   [](std::byte byte) { return byte != std::byte{0}; });
    const auto zeros = static_cast<uint64_t>(last - bytes.rbegin());
    ending_zeros = zeros == bytes.size() ? ending_zeros + zeros : zeros;
    if (bytes_read > limits.bytes) {
      fail(ErrorKind::limit_exceeded,
           "the archive expands to more than " + std::to_string(limits.bytes) + " bytes");
    }
    if (header_end && bytes_read > *header_end) {
      fail(ErrorKind::limit_exceeded,
           "a member's header of more than " + std::to_string(limits.header_bytes) + " bytes");
    }
    return bytes;
  }

  // Returns the next member, or null at the end of the archive.
  archive_entry* next_header() {
    // Skips the rest of the previous member, which does not count towards the header limit.
    if (members > 0) check(archive_read_data_skip(handle.get()));
    archive_entry* entry = nullptr;
    header_end = bytes_read + limits.header_bytes;
    const int result = archive_read_next_header(handle.get(), &entry);
    check(result);
    header_end.reset();
    if (result != ARCHIVE_EOF) return entry;
    // libarchive accepts an archive that was cut between two members.
    if (is_exhausted && ending_zeros < kTarBlock) {
      fail(ErrorKind::truncated, "not a whole tar archive: its end is missing", bytes_read);
    }
    return nullptr;
  }

  void check(int result) {
    if (failure) std::rethrow_exception(failure);
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN || result == ARCHIVE_EOF) return;
    const char* text = archive_error_string(handle.get());
    const std::string reason = text ? text : "no reason given";
    // libarchive has no error code for a truncated archive, only a message.
    const bool cut = reason.find("runcated") != std::string::npos;
    fail(cut ? ErrorKind::truncated : ErrorKind::corrupted,
         "not a whole tar archive: " + printable(reason));
  }

  // `offset`: by default that of the current member.
  [[noreturn]] void fail(ErrorKind kind, std::string reason,
                         std::optional<uint64_t> offset = std::nullopt) {
    const la_int64_t member = archive_read_header_position(handle.get());
    throw Error({.kind = kind,
                 .path = tar.path(),
                 .offset = offset.value_or(static_cast<uint64_t>(std::max<la_int64_t>(member, 0))),
                 .reason = std::move(reason),
                 .hint = "download the archive again"});
  }

  // Ensures that `rest` has bytes of the member. Returns false at the end of the member.
  bool fill() {
    while (rest.empty() && in_member) {
      const void* block = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int result = archive_read_data_block(handle.get(), &block, &size, &offset);
      check(result);
      if (result == ARCHIVE_EOF) in_member = false;
      rest = {static_cast<const std::byte*>(block), result == ARCHIVE_EOF ? 0 : size};
    }
    return !rest.empty();
  }

  ReadAhead& tar;
  TarLimits limits;
  std::unique_ptr<archive, FreeReader> handle;
  std::exception_ptr failure;
  uint64_t bytes_read = 0;
  uint64_t ending_zeros = 0;  // of the bytes read
  bool is_exhausted = false;
  std::optional<uint64_t> header_end = {};  // limit of bytes_read while a header is read
  size_t members = 0;
  bool in_member = false;
  std::span<const std::byte> rest;  // unread rest of libarchive's last block
  std::string path;
};

TarReader::TarReader(ReadAhead& tar, const TarLimits& limits)
    : state_(std::make_unique<State>(tar, limits)) {}

TarReader::~TarReader() = default;

std::optional<TarMember> TarReader::next() {
  State& state = *state_;
  state.rest = {};
  state.in_member = false;
  archive_entry* const entry = state.next_header();
  if (!entry) {
    while (!state.take_block().empty()) {
    }
    return std::nullopt;
  }
  if (++state.members > state.limits.members) {
    state.fail(ErrorKind::limit_exceeded,
               "more than " + std::to_string(state.limits.members) + " members");
  }
  TarMember member;
  // The name is null if it can't be converted, which never happens for a known name.
  if (const char* name = archive_entry_pathname(entry)) member.path = name;
  member.regular = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry) &&
                   !archive_entry_symlink(entry) && archive_entry_sparse_count(entry) == 0;
  if (member.regular && archive_entry_size_is_set(entry)) {
    member.size = static_cast<uint64_t>(std::max<la_int64_t>(archive_entry_size(entry), 0));
  }
  member.folder = archive_entry_filetype(entry) == AE_IFDIR;
  state.in_member = member.regular;
  state.path = state.tar.path() + ":" + member.path;
  return member;
}

size_t TarReader::read(std::span<std::byte> out) {
  State& state = *state_;
  if (!state.fill()) return 0;
  const size_t count = std::min(out.size(), state.rest.size());
  std::ranges::copy(state.rest.first(count), out.begin());
  state.rest = state.rest.subspan(count);
  return count;
}

std::optional<std::byte> TarReader::peek() {
  if (!state_->fill()) return std::nullopt;
  return state_->rest.front();
}

const std::string& TarReader::path() const { return state_->path; }

namespace {

constexpr int kBuffer = 64 << 10;
constexpr time_t kModified = 1244144640;  // June 2009, when the published archives were packed

struct FreeWriter {
  void operator()(archive* a) const { archive_write_free(a); }
};

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

}  // namespace

struct TarWriter::State {
  explicit State(ByteSink& out) : sink(out), handle(archive_write_new()) {
    if (!handle) throw std::bad_alloc();
    check(archive_write_set_format_ustar(handle.get()));
    check(archive_write_set_bytes_per_block(handle.get(), kBuffer));
    check(archive_write_set_bytes_in_last_block(handle.get(), 1));  // no padding
    check(archive_write_open(handle.get(), this, nullptr, take_bytes, nullptr));
  }

  // `dropping` discards the end of an abandoned archive, which freeing the handle would otherwise
  // write. (archive_write_fail would prevent this, too, but leaks libarchive's buffers.)
  ~State() { dropping = true; }

  // Exceptions must not propagate through libarchive's C code.
  static la_ssize_t take_bytes(archive* a, void* state, const void* bytes, size_t size) {
    auto& self = *static_cast<State*>(state);
    if (self.dropping) return static_cast<la_ssize_t>(size);
    try {
      self.sink.write({static_cast<const std::byte*>(bytes), size});
      return static_cast<la_ssize_t>(size);
    } catch (...) {
      self.failure = std::current_exception();
      archive_set_error(a, EIO, "writing failed");
      return ARCHIVE_FATAL;
    }
  }

  void check(la_ssize_t result) {
    if (failure) std::rethrow_exception(failure);
    if (result >= ARCHIVE_OK) return;
    const char* text = archive_error_string(handle.get());
    throw Error({.kind = ErrorKind::io,
                 .path = sink.path(),
                 .reason = std::string("packing failed: ") + (text ? text : "no reason given")});
  }

  void add(const std::string& path, unsigned type, mode_t mode,
           std::span<const std::byte> content) {
    const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
    if (!entry) throw std::bad_alloc();
    archive_entry_set_pathname(entry.get(), path.c_str());
    archive_entry_set_filetype(entry.get(), type);
    archive_entry_set_perm(entry.get(), mode);
    archive_entry_set_mtime(entry.get(), kModified, 0);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    check(archive_write_header(handle.get(), entry.get()));
    if (!content.empty()) check(archive_write_data(handle.get(), content.data(), content.size()));
  }

  ByteSink& sink;
  bool dropping = false;
  std::unique_ptr<archive, FreeWriter> handle;
  std::exception_ptr failure;
};

TarWriter::TarWriter(ByteSink& sink) : state_(std::make_unique<State>(sink)) {}

TarWriter::~TarWriter() = default;

void TarWriter::add_folder(const std::string& path) { state_->add(path, AE_IFDIR, 0755, {}); }

void TarWriter::add_file(const std::string& path, std::span<const std::byte> content) {
  state_->add(path, AE_IFREG, 0644, content);
}

void TarWriter::close() { state_->check(archive_write_close(state_->handle.get())); }

}  // namespace recordpipe
