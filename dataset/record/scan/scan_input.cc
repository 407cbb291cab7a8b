#include "dataset/record/scan/scan_input.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataset/io/compression/lost_content.h"
#include "recordpipe/checksum/crc32c.h"

namespace recordpipe {
namespace {

// The read size for streams.
constexpr size_t kReadSize = size_t{256} << 10;

// Limit on recorded gaps, because each takes memory. Further gaps are not reported, only the intact
// parts between them, and what they have lost as a loss of the last recorded one.
constexpr size_t kMaxGaps = 1000;

}  // namespace

uint32_t ScanInput::extend_crc(uint32_t crc, uint64_t begin, uint64_t end) {
  while (begin < end) {
    const uint64_t wanted = std::min(end - begin, piece_);
    const auto bytes = view(begin, wanted);
    const auto piece = bytes.first(std::min<uint64_t>(bytes.size(), wanted));
    if (piece.empty()) break;
    crc = crc32c_extend(crc, piece);
    if (piece.size() == piece_) release(begin, begin + piece_);
    begin += piece.size();
  }
  return crc;
}

uint32_t ScanInput::crc_in_passing(uint64_t begin, uint64_t end) {
  uint32_t crc = 0;
  while (begin < end) {
    const auto bytes = window(begin, 1);
    const auto piece = bytes.first(std::min<uint64_t>(bytes.size(), end - begin));
    if (piece.empty()) break;
    crc = crc32c_extend(crc, piece);
    begin += piece.size();
  }
  return crc;
}

FileScanInput::FileScanInput(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                             uint64_t resident)
    : ScanInput(file.stable() ? resident : std::min(resident, kResident)),
      file_(file),
      size_(file.size()),
      stable_(file.stable()),
      end_(end),
      released_(begin) {}

void FileScanInput::read(uint64_t offset, std::span<std::byte> out) {
  const size_t filled = file_.read_at(offset, out);
  if (filled == out.size()) return;
  was_cut_ = true;
  std::ranges::fill(out.subspan(filled), std::byte{0});
}

std::span<const std::byte> FileScanInput::view(uint64_t offset, uint64_t size) {
  size = std::min(size, size_ - offset);
  const auto known = kept(offset);
  if (known.size() >= size && !known.empty()) return known;
  if (stable_) return file_.read(offset, size_ - offset, {});
  if (!aside_ || aside_->size() < size) aside_.emplace(std::max(size, kMinRead));
  read(offset, aside_->part(0, size));
  return aside_->part(0, size);
}

// Copies even from a mapped file, because mapping a page takes longer than copying it.
std::span<const std::byte> FileScanInput::window(uint64_t offset, uint64_t size) {
  size = std::min(size, size_ - offset);
  if (size > kWindow) return view(offset, size);
  const auto known = kept(offset);
  if (known.size() >= size && !known.empty()) return known;
  if (buffer_ && !in_window(offset)) read_next_ = kMinRead;
  if (!buffer_) buffer_.emplace(std::min(kWindow, std::max<uint64_t>(size_, 1)));
  std::ranges::copy(known, buffer_->data());
  const uint64_t ahead = std::min(end_ > offset ? end_ - offset : 0, read_next_);
  const uint64_t filled = std::min(size_ - offset, std::max({size, ahead, kMinRead}));
  read_next_ = std::min(2 * read_next_, kWindow);
  window_ = {};
  read(offset + known.size(), buffer_->part(known.size(), filled));
  window_ = buffer_->part(0, filled);
  window_begin_ = offset;
  return window_;
}

void FileScanInput::forget(uint64_t offset) {
  if (offset < released_ + piece()) return;
  file_.hint(released_, offset - released_, ReadHint::done);
  released_ = offset;
}

void FileScanInput::release(uint64_t begin, uint64_t end) {
  if (begin >= end || size_ <= piece()) return;
  if (end - begin > kBlock) {
    file_.hint(begin, end - begin, ReadHint::done);
    return;
  }
  for (uint64_t block = begin / kBlock; block <= (end - 1) / kBlock; ++block) {
    const auto known = std::span(blocks_).first(block_count_);
    if (std::ranges::find(known, block) != known.end()) continue;
    if (block_count_ == kMaxBlocks) release_blocks();
    blocks_[block_count_++] = block;
  }
}

void FileScanInput::release_blocks() {
  for (const uint64_t block : std::span(blocks_).first(block_count_)) {
    file_.hint(block * kBlock, kBlock, ReadHint::done);
  }
  block_count_ = 0;
}

StreamScanInput::StreamScanInput(std::unique_ptr<ByteSource> source, bool reads_on)
    : ScanInput(kReadSize),
      source_(std::move(source)),
      buffer_(2 * kReadSize),
      reads_on_(reads_on) {}

std::span<const std::byte> StreamScanInput::view(uint64_t offset, uint64_t size) {
  while (!ended_ && offset_ + (end_ - begin_) < offset + size) read_more();
  const std::span<const std::byte> content = buffer_.part(begin_, end_);
  return content.subspan(std::min<uint64_t>(offset - offset_, content.size()));
}

std::optional<uint64_t> StreamScanInput::left(uint64_t offset) const {
  if (!ended_) return std::nullopt;
  return offset_ + (end_ - begin_) - offset;
}

void StreamScanInput::forget(uint64_t offset) {
  begin_ += offset - offset_;
  offset_ = offset;
}

uint64_t StreamScanInput::pass_gaps(uint64_t offset) {
  uint64_t lost = 0;
  while (!gaps_.empty() && gaps_.front().offset <= offset) {
    lost += gaps_.front().lost;
    gaps_.pop_front();
  }
  return lost;
}

// Moving copies at most as many bytes as were forgotten, and growing at most as many as are kept,
// so the work is linear for any order of views.
void StreamScanInput::make_room() {
  if (buffer_.size() - end_ >= kReadSize) return;
  const size_t kept = end_ - begin_;
  if (begin_ < std::max(kept, kReadSize)) {
    buffer_.resize(buffer_.size() + std::max(kept / 2, kReadSize));
  } else {
    std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
    begin_ = 0;
    end_ = kept;
  }
}

void StreamScanInput::read_more() {
  make_room();
  try {
    const size_t count = source_->read(buffer_.part(end_, buffer_.size()));
    end_ += count;
    ended_ = count == 0;
  } catch (const Error& error) {
    if (!is_damage(error.kind())) throw;
    ended_ = !reads_on_;
    const auto* const loss = dynamic_cast<const LostContent*>(&error);
    const uint64_t lost = loss != nullptr ? loss->lost() : 0;
    const uint64_t here = offset_ + (end_ - begin_);
    const bool is_known = !gaps_.empty() && gaps_.back().offset == here;
    if (is_known || gaps_.size() == kMaxGaps) {
      gaps_.back().lost += lost;
    } else {
      gaps_.push_back({here, error, lost, loss != nullptr ? loss->size() : std::nullopt});
    }
  }
}

}  // namespace recordpipe
