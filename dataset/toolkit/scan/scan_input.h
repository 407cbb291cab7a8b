// What a scan for records reads: a mapped file or a stream, by offsets that mostly grow.
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

// Part or all of a mapped file. No more than `resident` bytes of those that it viewed stay in
// memory, and a few blocks besides. Giving pages back interrupts all threads of the process, and a
// page that is wanted again has to be found again: it is done seldom. A file full of headers that
// lie has a range to release at every few bytes.
class MappedScanInput final : public ScanInput {
 public:
  static constexpr uint64_t kResident = uint64_t{1} << 20;
  // What is read at a time for windows: it stays in a core's own cache.
  static constexpr uint64_t kWindow = uint64_t{256} << 10;
  // And at first: a search for a record's start in 64 KiB often is all.
  static constexpr uint64_t kFirstWindow = (uint64_t{64} << 10) + kRecordOverhead;
  // And behind the end, up to which alone the reading runs ahead.
  static constexpr uint64_t kLeastRead = uint64_t{16} << 10;

  explicit MappedScanInput(const MappedFile& file)
      : MappedScanInput(file, 0, file.bytes().size()) {}
  // For what begins in [begin, end), wherever it ends.
  MappedScanInput(const MappedFile& file, uint64_t begin, uint64_t end,
                  uint64_t resident = kResident)
      : ScanInput(resident), file_(file), end_(end), released_(begin) {}
  ~MappedScanInput() override { release_blocks(); }
  MappedScanInput(const MappedScanInput&) = delete;
  MappedScanInput& operator=(const MappedScanInput&) = delete;

  std::span<const std::byte> view(uint64_t offset, uint64_t) override {
    return file_.bytes().subspan(offset);
  }
  std::span<const std::byte> window(uint64_t offset, uint64_t size) override;
  std::optional<uint64_t> left(uint64_t offset) const override {
    return file_.bytes().size() - offset;
  }
  void forget(uint64_t offset) override;
  void release(uint64_t begin, uint64_t end) override;
  const ContentGap* gap() const override { return nullptr; }
  void pass_gaps(uint64_t) override {}
  bool changed() const override { return file_.damaged(); }
  const std::string& path() const override { return file_.path(); }

 private:
  // As much as the kernel maps at a time around a page that is touched.
  static constexpr uint64_t kBlock = uint64_t{64} << 10;
  static constexpr size_t kMostBlocks = 4;

  void release_blocks();

  const MappedFile& file_;
  const uint64_t end_;
  uint64_t released_;
  // What was read for the last window, and where it begins in the file.
  std::optional<RawBuffer> buffer_;
  std::span<const std::byte> window_;
  uint64_t window_begin_ = 0;
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
