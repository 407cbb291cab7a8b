#include "dataset/record/record_header_reader.h"

#include <algorithm>
#include <span>

#include "dataset/record/record_error.h"
#include "recordpipe/record_format.h"

namespace recordpipe {
namespace {

constexpr size_t kWindow = size_t{64} << 10;
// Longer records are skipped, not read.
constexpr uint64_t kLongRecord = uint64_t{8} << 10;

}  // namespace

RecordHeaderReader::RecordHeaderReader(const RandomAccessFile& file, RecordReadOptions options)
    : file_(file), options_(options), window_(kWindow) {}

std::span<const std::byte> RecordHeaderReader::fetch(size_t size) {
  const auto in_window = [&] {
    return offset_ >= window_begin_ && offset_ + size <= window_begin_ + window_size_;
  };
  if (!in_window()) {
    const size_t wanted = last_size_ > kLongRecord ? size : kWindow;
    window_begin_ = offset_;
    window_size_ = file_.read_at(offset_, std::span(window_).first(wanted));
  }
  const auto rest = std::span(window_).first(window_size_).subspan(offset_ - window_begin_);
  return rest.first(std::min(size, rest.size()));
}

std::optional<RecordIndexEntry> RecordHeaderReader::read() {
  if (offset_ >= file_.size()) return std::nullopt;
  const auto bytes = fetch(kRecordHeaderSize);
  if (bytes.size() < kRecordHeaderSize) throw truncated_record(file_.path(), offset_, "header");
  const auto header = bytes.first<kRecordHeaderSize>();
  if (options_.crc != CrcCheck::never && !decode_record_header(header)) {
    throw corrupted_length(file_.path(), offset_, fetch(kBytesForHint));
  }
  const uint64_t length = decode_record_length(header);
  if (is_impossible_length(length)) throw impossible_length(file_.path(), offset_, length);
  const uint64_t left = file_.size() - offset_ - kRecordHeaderSize;
  if (length > left) throw truncated_record(file_.path(), offset_, "data");
  if (left - length < kRecordFooterSize) throw truncated_record(file_.path(), offset_, "data CRC");
  const RecordIndexEntry entry = {.offset = offset_, .size = length + kRecordOverhead};
  offset_ = entry.end();
  last_size_ = entry.size;
  return entry;
}

}  // namespace recordpipe
