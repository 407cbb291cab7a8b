#include "dataset/record/record_header_reader.h"

#include <algorithm>
#include <span>

#include "dataset/record/record_framing.h"
#include "recordpipe/record_format.h"

namespace recordpipe {
namespace {

constexpr size_t kWindow = size_t{64} << 10;
// Longer records are skipped, not read.
constexpr uint64_t kLongRecord = uint64_t{8} << 10;

}  // namespace

RecordHeaderReader::RecordHeaderReader(const RandomAccessFile& file, RecordReadOptions options)
    : file_(file), rules_{.check_crc = options.crc != CrcCheck::never}, window_(kWindow) {}

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
  const RecordFrame frame =
      parse_record_header(fetch(kRecordHeaderSize), file_.size() - offset_, rules_);
  if (!frame.ok()) throw framing_error(frame, file_.path(), offset_, fetch(kBytesForHint));
  const RecordIndexEntry entry = {.offset = offset_, .size = frame.size()};
  offset_ = entry.end();
  last_size_ = entry.size;
  return entry;
}

}  // namespace recordpipe
