#include "dataset/record/record_header_reader.h"

#include <algorithm>
#include <array>

#include "recordpipe/record/record_format.h"

namespace recordpipe {
namespace {

constexpr size_t kWindow = size_t{64} << 10;
// Longer records are skipped, not read.
constexpr uint64_t kLongRecord = uint64_t{8} << 10;
// The distance for which reading ahead is advised, and the record size below which reading ahead is
// faster than reading only the headers.
constexpr uint64_t kReadahead = uint64_t{2} << 20;
constexpr uint64_t kLongToReadAhead = uint64_t{128} << 10;

}  // namespace

RecordHeaderReader::RecordHeaderReader(const RandomAccessFile& file, RecordReadOptions options,
                                       uint64_t offset)
    : file_(file),
      size_(file.size()),
      rules_{.check_crc = options.crc != CrcCheck::never},
      offset_(offset),
      scratch_(file.stable() ? 0 : kWindow) {
  if (file.stable()) window_ = file.read(0, size_, {});
}

std::span<const std::byte> RecordHeaderReader::fetch(size_t size) {
  const uint64_t end = offset_ + std::min<uint64_t>(size, size_ - offset_);
  if (offset_ < window_begin_ || end > window_begin_ + window_.size()) {
    const size_t wanted = last_size_ > kLongRecord ? size : kWindow;
    window_begin_ = offset_;
    window_ = file_.read(offset_, wanted, scratch_);
  }
  return window_.subspan(offset_ - window_begin_);
}

void RecordHeaderReader::advise() {
  // Of another file, windows are read.
  if (!file_.stable() || last_size_ >= kLongToReadAhead || offset_ + kReadahead <= advised_) return;
  advised_ = std::max(advised_, offset_);
  file_.hint(advised_, kReadahead, ReadHint::will_need);
  advised_ += kReadahead;
}

std::optional<RecordIndexEntry> RecordHeaderReader::read() {
  if (offset_ >= size_) return std::nullopt;
  advise();
  const RecordFrame frame = parse_record_header(fetch(kRecordHeaderSize), size_ - offset_, rules_);
  if (!frame.ok()) {
    const bool is_cut = frame.fault == FramingFault::length_crc && file_.damaged();
    if (is_cut) throw cut_while_mapped(file_.path(), offset_);
    throw framing_error(frame, file_.path(), offset_, fetch(kBytesForHint));
  }
  const RecordIndexEntry entry = {.offset = offset_, .size = frame.size()};
  offset_ = entry.end();
  last_size_ = entry.size;
  return entry;
}

std::optional<RecordIndexEntry> find_misfit(const RandomAccessFile& file,
                                            std::span<const RecordIndexEntry> entries) {
  std::vector<std::array<std::byte, kRecordHeaderSize>> headers(entries.size());
  std::vector<ReadRequest> requests;
  for (size_t i = 0; i < entries.size(); ++i) {
    requests.push_back({.offset = entries[i].offset, .size = kRecordHeaderSize});
    if (!file.stable()) requests.back().scratch = headers[i];
  }
  file.read_many(requests);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!is_record_header(requests[i].data, entries[i].size)) return entries[i];
  }
  return std::nullopt;
}

}  // namespace recordpipe
