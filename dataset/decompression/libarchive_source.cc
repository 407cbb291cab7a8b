// Decompresses bzip2, xz and lz4 by libarchive's filters.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

#include "dataset/base/damage_hint.h"
#include "recordpipe/base/error.h"
#include "recordpipe/decompression/more_compressions.h"
#include "recordpipe/io/compression.h"

namespace recordpipe {
namespace {

constexpr size_t kReadSize = size_t{256} << 10;

class LibarchiveSource final : public ByteSource {
 public:
  LibarchiveSource(std::unique_ptr<ByteSource> compressed, Compression format)
      : source_(std::move(compressed)),
        format_(format),
        buffer_(kReadSize),
        archive_(archive_read_new()) {
    if (!archive_) throw std::bad_alloc();
    if (format == Compression::bzip2) archive_read_support_filter_bzip2(archive_.get());
    if (format == Compression::xz) archive_read_support_filter_xz(archive_.get());
    if (format == Compression::lz4) archive_read_support_filter_lz4(archive_.get());
    archive_read_support_format_raw(archive_.get());
  }

  size_t read(std::span<std::byte> out) override {
    if (out.empty() || has_ended_) return 0;
    if (failure_) std::rethrow_exception(failure_);
    try {
      if (!is_open_) open();
      while (decoded_.empty() && !has_ended_) decode();
      const size_t count = std::min(out.size(), decoded_.size());
      std::copy_n(decoded_.begin(), count, out.begin());
      decoded_ = decoded_.subspan(count);
      return count;
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
      throw;
    }
  }

  const std::string& path() const override { return source_->path(); }

 private:
  struct Free {
    void operator()(archive* a) const { archive_read_free(a); }
  };

  // Not in the constructor: a live source may have no bytes yet.
  void open() {
    if (archive_read_open(archive_.get(), this, nullptr, &read_block, nullptr) != ARCHIVE_OK) {
      fail();
    }
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(archive_.get(), &entry);
    if (result != ARCHIVE_OK && result != ARCHIVE_EOF) fail();
    // A filter that doesn't know its format hands on the bytes as they are.
    if (archive_filter_count(archive_.get()) < 2) fail();
    if (result == ARCHIVE_EOF) require_only_zeros();
    is_open_ = true;
    has_ended_ = result == ARCHIVE_EOF;
  }

  // Not archive_read_data(), which fills a whole buffer, and keeps nothing of it after an error.
  void decode() {
    const void* data = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(archive_.get(), &data, &size, &offset);
    if (result == ARCHIVE_EOF) {
      require_only_zeros();
      has_ended_ = true;
      return;
    }
    if (result != ARCHIVE_OK) fail();
    decoded_ = {static_cast<const std::byte*>(data), size};
  }

  size_t read_source() {
    const size_t count = source_->read(buffer_);
    all_read_ = count == 0;
    bytes_read_ += count;
    const auto block = std::span(buffer_).first(count);
    const auto data_end =
        std::find_if(block.rbegin(), block.rend(), [](std::byte b) { return b != std::byte{0}; });
    const auto zeros = static_cast<size_t>(data_end - block.rbegin());
    zeros_at_end_ = zeros == count ? zeros_at_end_ + count : zeros;
    return count;
  }

  // libarchive ends the data at the first bytes that begin no further stream, such as a damaged
  // one. Only zeros, as they pad files on tapes, can be left out.
  void require_only_zeros() {
    const auto decoded = static_cast<uint64_t>(archive_filter_bytes(archive_.get(), -1));
    do {
      if (bytes_read_ - decoded > zeros_at_end_) {
        fail("garbage after the end of a stream");
      }
    } while (!all_read_ && read_source() > 0);
  }

  // libarchive's read callback. Exceptions must not propagate through its C code.
  static la_ssize_t read_block(archive* a, void* self, const void** block) {
    auto& reader = *static_cast<LibarchiveSource*>(self);
    try {
      const size_t count = reader.read_source();
      *block = reader.buffer_.data();
      return static_cast<la_ssize_t>(count);
    } catch (...) {
      reader.failure_ = std::current_exception();
      archive_set_error(a, EIO, "reading failed");
      return ARCHIVE_FATAL;
    }
  }

  [[noreturn]] void fail() {
    if (failure_) std::rethrow_exception(failure_);
    const char* const reason = archive_error_string(archive_.get());
    fail(reason != nullptr ? reason : "not " + std::string(to_string(format_)));
  }

  [[noreturn]] void fail(const std::string& reason) const {
    const int64_t decoded = archive_filter_bytes(archive_.get(), -1);  // -1: nothing is open
    throw Error({.kind = all_read_ ? ErrorKind::truncated : ErrorKind::corrupted,
                 .path = source_->path(),
                 .offset = decoded >= 0 ? std::optional<uint64_t>(decoded) : std::nullopt,
                 .reason = "damaged or incomplete " + std::string(to_string(format_)) +
                           " stream (" + reason + ")",
                 .hint = kDamagedFileHint});
  }

  const std::unique_ptr<ByteSource> source_;
  const Compression format_;
  std::vector<std::byte> buffer_;
  bool is_open_ = false;
  bool all_read_ = false;  // from source_
  uint64_t bytes_read_ = 0, zeros_at_end_ = 0;
  bool has_ended_ = false;
  std::span<const std::byte> decoded_;  // libarchive's memory, until the next block
  std::exception_ptr failure_;
  std::unique_ptr<archive, Free> archive_;
};

std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> compressed, Compression format) {
  return std::make_unique<LibarchiveSource>(std::move(compressed), format);
}

}  // namespace

void read_more_compressions() { set_decompressor(&decompress); }

}  // namespace recordpipe
