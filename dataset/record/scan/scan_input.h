// Reads the input of a scan for records, a file or a stream, at mostly increasing offsets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dataset/io/raw_buffer.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_format.h"

namespace recordpipe {

// A position where the compression of a content is damaged or truncated. Content is missing there,
// whether the content ends or continues after it.
struct ContentGap {
  uint64_t offset = 0;  // in the content
  Error error;
  // The bytes of the compressed file, from error.offset() on, that can't be decompressed; the size
  // of that file, if these are the rest of it.
  uint64_t lost = 0;
  std::optional<uint64_t> file_size = {};
};

// Not thread-safe.
class ScanInput {
 public:
  virtual ~ScanInput() = default;

  // Returns the content from `offset` on: at least `size` bytes, fewer only at the end of the
  // content, and all further bytes that are available. The view is valid until the next call.
  virtual std::span<const std::byte> view(uint64_t offset, uint64_t size) = 0;
  // Like view(), for a sequential pass from lower to higher offsets: going back is expensive.
  virtual std::span<const std::byte> window(uint64_t offset, uint64_t size) {
    return view(offset, size);
  }
  // Returns the number of bytes from `offset` on, or std::nullopt if it isn't known yet.
  virtual std::optional<uint64_t> left(uint64_t offset) const = 0;
  // Promises that no view will begin before `offset`.
  virtual void forget(uint64_t offset) = 0;
  // Hints that [begin, end), which was viewed, won't be needed soon.
  virtual void release(uint64_t begin, uint64_t end) = 0;
  // Returns the first gap in the viewed content that was not passed, or null.
  virtual const ContentGap* gap() const = 0;
  // Marks the gaps up to `offset` as passed. Returns what was lost in all of them.
  virtual uint64_t pass_gaps(uint64_t offset) = 0;
  // Whether the content has changed while it was being read.
  virtual bool changed() const = 0;
  virtual const std::string& path() const = 0;

  // The size of the pieces in which a long range is read and released.
  uint64_t piece() const { return piece_; }
  // Returns crc32c_extend(crc, [begin, end)); the range must exist. Releases whole pieces of it.
  uint32_t extend_crc(uint32_t crc, uint64_t begin, uint64_t end);
  // Returns crc32c([begin, end)) and reads through windows; the range must exist.
  uint32_t crc_in_passing(uint64_t begin, uint64_t end);

 protected:
  explicit ScanInput(uint64_t piece) : piece_(piece) {}

 private:
  const uint64_t piece_;
};

// Reads part or all of a file. Views of a stable() file point into the mapped file, of which at
// most `resident` bytes and a few blocks stay resident. Unmapping pages interrupts all threads of
// the process, and a page that is needed again must be mapped again. So pages are unmapped rarely,
// even if a file full of wrong headers has a range to release every few bytes. A view of any other
// file reads exactly the bytes of the view. Bytes that the file has lost since it was opened read
// as zeros.
class FileScanInput final : public ScanInput {
 public:
  static constexpr uint64_t kResident = uint64_t{1} << 20;
  // The read size for windows: small enough for a core's private cache.
  static constexpr uint64_t kWindow = uint64_t{256} << 10;
  // The size of the first read: often only 64 KiB are searched for a record's start.
  static constexpr uint64_t kFirstWindow = (uint64_t{64} << 10) + kRecordOverhead;
  // The size of the first read after a jump, and the minimum size beyond `end`, where reading ahead
  // stops.
  static constexpr uint64_t kMinRead = uint64_t{16} << 10;

  explicit FileScanInput(const RandomAccessFile& file) : FileScanInput(file, 0, file.size()) {}
  // For records that begin in [begin, end), wherever they end.
  FileScanInput(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                uint64_t resident = kResident);
  ~FileScanInput() override { release_blocks(); }
  FileScanInput(const FileScanInput&) = delete;
  FileScanInput& operator=(const FileScanInput&) = delete;

  std::span<const std::byte> view(uint64_t offset, uint64_t size) override;
  std::span<const std::byte> window(uint64_t offset, uint64_t size) override;
  std::optional<uint64_t> left(uint64_t offset) const override { return size_ - offset; }
  void forget(uint64_t offset) override;
  void release(uint64_t begin, uint64_t end) override;
  const ContentGap* gap() const override { return nullptr; }
  uint64_t pass_gaps(uint64_t) override { return 0; }
  bool changed() const override { return was_cut_ || file_.damaged(); }
  const std::string& path() const override { return file_.path(); }

 private:
  // How many bytes the kernel maps around a touched page.
  static constexpr uint64_t kBlock = uint64_t{64} << 10;
  static constexpr size_t kMaxBlocks = 4;

  // Returns whether `offset` is in the last window or at its end.
  bool in_window(uint64_t offset) const {
    return offset >= window_begin_ && offset - window_begin_ <= window_.size();
  }
  // Returns the part of the last window from `offset` on; empty if `offset` is not in the window.
  std::span<const std::byte> kept(uint64_t offset) const {
    return in_window(offset) ? window_.subspan(offset - window_begin_) : window_.first(0);
  }
  void read(uint64_t offset, std::span<std::byte> out);
  void release_blocks();

  const RandomAccessFile& file_;
  const uint64_t size_;
  const bool stable_;
  const uint64_t end_;
  uint64_t released_;
  bool was_cut_ = false;
  // The buffer and content of the last window, and its offset in the file.
  std::optional<RawBuffer> buffer_;
  std::span<const std::byte> window_;
  uint64_t window_begin_ = 0;
  // The last view outside of the window; unused for a stable file.
  std::optional<RawBuffer> aside_;
  uint64_t read_next_ = kFirstWindow;
  // Indexes of the blocks that hold short ranges to be released, the most recent last.
  std::array<uint64_t, kMaxBlocks> blocks_ = {};
  size_t block_count_ = 0;
};

// Reads a stream. Keeps content that was viewed and not forgotten in memory.
class StreamScanInput final : public ScanInput {
 public:
  // `reads_on`: the source continues after damage (InflateOptions).
  explicit StreamScanInput(std::unique_ptr<ByteSource> source, bool reads_on = false);

  std::span<const std::byte> view(uint64_t offset, uint64_t size) override;
  std::optional<uint64_t> left(uint64_t offset) const override;
  void forget(uint64_t offset) override;
  void release(uint64_t, uint64_t) override {}
  const ContentGap* gap() const override { return gaps_.empty() ? nullptr : &gaps_.front(); }
  uint64_t pass_gaps(uint64_t offset) override;
  bool changed() const override { return false; }
  const std::string& path() const override { return source_->path(); }

 private:
  void make_room();
  void read_more();

  std::unique_ptr<ByteSource> source_;
  RawBuffer buffer_;
  // The part [begin_, end_) of the buffer holds the content from offset_ on.
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  const bool reads_on_;
  bool ended_ = false;
  std::deque<ContentGap> gaps_;
};

}  // namespace recordpipe
