#include "dataset/toolkit/jobs/kept_records.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr size_t kBuffer = size_t{4} << 20;
constexpr uint64_t kLargestFile = uint64_t{1} << 30;
constexpr uint64_t kShareOfRead = 4;

struct Frame {
  uint64_t split;
  uint64_t size;
};

void append_bytes(std::vector<std::byte>& buffer, std::span<const std::byte> bytes) {
  buffer.insert(buffer.end(), bytes.begin(), bytes.end());
}

void drain_frames(
    std::span<const std::byte> frames,
    const std::function<void(std::span<const std::byte> data, size_t split)>& consume) {
  while (!frames.empty()) {
    Frame frame;
    std::memcpy(&frame, frames.data(), sizeof(frame));
    frames = frames.subspan(sizeof(frame));
    consume(frames.first(frame.size), frame.split);
    frames = frames.subspan(frame.size);
  }
}

}  // namespace

bool KeptRecords::has_room(uint64_t size) const {
  const uint64_t in_file = directory_.empty() ? 0 : std::min(kLargestFile, read_ / kShareOfRead);
  return size_ + size <= std::max<uint64_t>(kBuffer, in_file);
}

void KeptRecords::add(RecordPieces pieces, size_t split) {
  if (!has_all_) return;
  Frame frame = {.split = split, .size = 0};
  for (const auto& piece : pieces) frame.size += piece.size();
  const uint64_t size = sizeof(frame) + frame.size;
  if (!has_room(size)) return drop();
  try {
    if (buffer_.size() + size > kBuffer && !buffer_.empty()) spill();
  } catch (const Error&) {
    return drop();
  }
  append_bytes(buffer_, std::as_bytes(std::span(&frame, 1)));
  for (const auto& piece : pieces) append_bytes(buffer_, piece);
  size_ += size;
}

void KeptRecords::spill() {
  if (!file_) file_.emplace(directory_);
  file_->append(buffer_);
  spilled_.push_back(buffer_.size());
  buffer_.clear();
}

void KeptRecords::drop() {
  has_all_ = false;
  buffer_ = {};
  file_.reset();
  spilled_.clear();
}

void KeptRecords::drain(
    const std::function<void(std::span<const std::byte> data, size_t split)>& consume) const {
  uint64_t offset = 0;
  std::vector<std::byte> frames;
  for (const size_t size : spilled_) {
    frames.resize(size);
    file_->read_at(offset, frames);
    offset += size;
    drain_frames(frames, consume);
  }
  frames = {};
  drain_frames(buffer_, consume);
}

}  // namespace recordpipe
