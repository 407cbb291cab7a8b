// What a scan for records reads: a file or a stream, by offsets that mostly grow.
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
#include "recordpipe/error.h"
#include "recordpipe/file.h"
#include "recordpipe/record_format.h"

namespace recordpipe {

// Where the compression of a content is damaged or cut. What should be there is missing, whether
// the content ends or another part of it follows.
struct ContentGap {
  uint64_t offset = 0;  // in the content
  Error error;
};

// One thread at a time.
class ScanInput {
 public:
  virtual ~ScanInput() = default;

  // The content from `offset` on: at least `size` bytes, unless it ends before, and as many more as
  // are at hand. Valid until the next call.
  virtual std::span<const std::byte> view(uint64_t offset, uint64_t size) = 0;
  // The same for what is gone through once, from lower offsets to higher ones: going back is dear.
  virtual std::span<const std::byte> window(uint64_t offset, uint64_t size) {
    return view(offset, size);
  }
  // How many bytes there are from `offset` on; nothing where that isn't known yet.
  virtual std::optional<uint64_t> left(uint64_t offset) const = 0;
  // Nothing before `offset` is asked for again.
  virtual void forget(uint64_t offset) = 0;
  // [begin, end), which was viewed, isn't needed soon.
  virtual void release(uint64_t begin, uint64_t end) = 0;
  // Of the gaps in the content that were viewed and not passed, the first.
  virtual const ContentGap* gap() const = 0;
  // Those at or before `offset` are known to who asks.
  virtual void pass_gaps(uint64_t offset) = 0;
  // Whether the content changes while it is read.
  virtual bool changed() const = 0;
  virtual const std::string& path() const = 0;

  // What is read and released at a time, of a long range.
  uint64_t piece() const { return piece_; }
  // crc32c_extend(crc, [begin, end)), all of which is there, with whole pieces of it released.
  uint32_t extend_crc(uint32_t crc, uint64_t begin, uint64_t end);
  // crc32c([begin, end)), all of which is there, through windows.
  uint32_t crc_in_passing(uint64_t begin, uint64_t end);

 protected:
  explicit ScanInput(uint64_t piece) : piece_(piece) {}

 private:
  const uint64_t piece_;
};

// Part or all of a file. Views of a stable() file are its memory: at most `resident` bytes of them
// stay in memory, and a few blocks besides. To unmap pages interrupts all threads of the process,
// and a page that is needed again has to be mapped again, so it is done rarely: a file full of
// wrong headers has a range to release at every few bytes. Views of other files are read, each with
// exactly its bytes. Bytes that the file has lost since it was opened are zeros.
class FileScanInput final : public ScanInput {
 public:
  static constexpr uint64_t kResident = uint64_t{1} << 20;
  // The size of a read for windows: they stay in a core's own cache.
  static constexpr uint64_t kWindow = uint64_t{256} << 10;
  // The size of the first read: often, a search for a record's start in 64 KiB is all.
  static constexpr uint64_t kFirstWindow = (uint64_t{64} << 10) + kRecordOverhead;
  // The size of the first read elsewhere, and of reads behind the end: only up to the end, reads
  // run ahead.
  static constexpr uint64_t kLeastRead = uint64_t{16} << 10;

  explicit FileScanInput(const RandomAccessFile& file) : FileScanInput(file, 0, file.size()) {}
  // For what begins in [begin, end), wherever it ends.
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
  void pass_gaps(uint64_t) override {}
  bool changed() const override { return was_cut_ || file_.damaged(); }
  const std::string& path() const override { return file_.path(); }

 private:
  // As much as the kernel maps at a time around a page that is touched.
  static constexpr uint64_t kBlock = uint64_t{64} << 10;
  static constexpr size_t kMostBlocks = 4;

  // Whether `offset` is in the last window, or at its end.
  bool in_window(uint64_t offset) const {
    return offset >= window_begin_ && offset - window_begin_ <= window_.size();
  }
  // What the last window holds from `offset` on.
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
  // What was read for the last window, and where it begins in the file.
  std::optional<RawBuffer> buffer_;
  std::span<const std::byte> window_;
  uint64_t window_begin_ = 0;
  // The last view outside of the window; unused for a stable file.
  std::optional<RawBuffer> aside_;
  uint64_t read_next_ = kFirstWindow;
  // Numbers of blocks in which short ranges lie that are to be released, the latest last.
  std::array<uint64_t, kMostBlocks> blocks_ = {};
  size_t block_count_ = 0;
};

// A stream, of which what was viewed and not forgotten is kept in memory.
class StreamScanInput final : public ScanInput {
 public:
  // `reads_on`: the source goes on after damage (InflateOptions).
  explicit StreamScanInput(std::unique_ptr<ByteSource> source, bool reads_on = false);

  std::span<const std::byte> view(uint64_t offset, uint64_t size) override;
  std::optional<uint64_t> left(uint64_t offset) const override;
  void forget(uint64_t offset) override;
  void release(uint64_t, uint64_t) override {}
  const ContentGap* gap() const override { return gaps_.empty() ? nullptr : &gaps_.front(); }
  void pass_gaps(uint64_t offset) override;
  bool changed() const override { return false; }
  const std::string& path() const override { return source_->path(); }

 private:
  void make_room();
  void read_more();

  std::unique_ptr<ByteSource> source_;
  RawBuffer buffer_;
  // The part of the buffer that holds content, and where in the content it begins.
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  const bool reads_on_;
  bool ended_ = false;
  std::deque<ContentGap> gaps_;
};

}  // namespace recordpipe
