#include "dataset/toolkit/scan/scan_input.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "recordpipe/crc32c.h"

namespace recordpipe {
namespace {

// What is read of a stream at a time.
constexpr size_t kReadSize = size_t{256} << 10;

// More of them, and of the rest only what lies between them is seen: they take memory.
constexpr size_t kMostGaps = 1000;

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

// Read, not mapped: to map a page takes longer than to copy it.
std::span<const std::byte> MappedScanInput::window(uint64_t offset, uint64_t size) {
  const uint64_t file_size = file_.bytes().size();
  size = std::min(size, file_size - offset);
  if (size > kWindow) return view(offset, size);
  const bool is_inside = offset >= window_begin_ && offset - window_begin_ <= window_.size();
  auto kept = is_inside ? window_.subspan(offset - window_begin_) : window_.first(0);
  if (kept.size() >= size && !kept.empty()) return kept;
  if (!buffer_) buffer_.emplace(std::min(kWindow, std::max<uint64_t>(file_size, 1)));
  std::ranges::copy(kept, buffer_->data());
  const uint64_t ahead = std::min(end_ > offset ? end_ - offset : 0, read_next_);
  const uint64_t filled = std::min(file_size - offset, std::max({size, ahead, kLeastRead}));
  read_next_ = std::min(2 * read_next_, kWindow);
  file_.read_at(offset + kept.size(), buffer_->part(kept.size(), filled));
  window_ = buffer_->part(0, filled);
  window_begin_ = offset;
  return window_;
}

void MappedScanInput::forget(uint64_t offset) {
  if (offset < released_ + piece()) return;
  file_.hint(released_, offset - released_, ReadHint::done);
  released_ = offset;
}

void MappedScanInput::release(uint64_t begin, uint64_t end) {
  if (begin >= end || file_.bytes().size() <= piece()) return;
  if (end - begin > kBlock) {
    file_.hint(begin, end - begin, ReadHint::done);
    return;
  }
  for (uint64_t block = begin / kBlock; block <= (end - 1) / kBlock; ++block) {
    const auto known = std::span(blocks_).first(block_count_);
    if (std::ranges::find(known, block) != known.end()) continue;
    if (block_count_ == kMostBlocks) release_blocks();
    blocks_[block_count_++] = block;
  }
}

void MappedScanInput::release_blocks() {
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

void StreamScanInput::pass_gaps(uint64_t offset) {
  while (!gaps_.empty() && gaps_.front().offset <= offset) gaps_.pop_front();
}

// Moving costs no more than what was forgotten, growing no more than what is kept: whatever is
// viewed, and in whichever order, the work is linear.
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
    const uint64_t here = offset_ + (end_ - begin_);
    const bool is_known = !gaps_.empty() && gaps_.back().offset == here;
    if (!is_known && gaps_.size() < kMostGaps) gaps_.push_back({here, error});
  }
}

}  // namespace recordpipe
