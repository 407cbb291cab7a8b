#include "recordpipe/record_reader.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "dataset/io/raw_buffer.h"
#include "dataset/record/record_error.h"
#include "recordpipe/crc32c.h"
#include "recordpipe/error.h"
#include "recordpipe/record_format.h"
#include "recordpipe/stream_compression.h"

namespace recordpipe {
namespace {

constexpr size_t kBufferSize = size_t{256} << 10;
// For a record larger than the buffer, the buffer grows as bytes arrive: by the larger of this and
// half of its size, up to the size of the record.
constexpr size_t kGrowth = size_t{1} << 20;

}  // namespace

struct RecordReader::State {
  std::unique_ptr<ByteSource> source;
  RecordReadOptions options;
  Compression compression;
  RawBuffer buffer{kBufferSize};
  // The bytes that were read from the source and not yet returned: buffer[begin, end).
  size_t begin = 0;
  size_t end = 0;
  uint64_t offset = 0;  // of `begin` in the decompressed content
  bool ended = false;
  std::exception_ptr failure = nullptr;

  State(std::unique_ptr<ByteSource> raw, RecordReadOptions wanted) : options(wanted) {
    // Prevents overflow of the sum of a record's parts.
    options.max_record_size = std::min(options.max_record_size, UINT64_MAX - kRecordOverhead);
    DetectedSource detected = detect_source(std::move(raw), options);
    source = std::move(detected.source);
    compression = detected.compression;
  }

  std::span<const std::byte> available() const { return buffer.part(begin, end); }

  // Makes the next `size` bytes available. Returns false if the source ends before.
  bool fetch(uint64_t size) {
    if (begin == end) begin = end = 0;
    while (end - begin < size && !ended) {
      if (begin > 0 && size > buffer.size() - begin) {
        std::memmove(buffer.data(), buffer.data() + begin, end - begin);
        end -= begin;
        begin = 0;
      }
      if (end == buffer.size()) {
        buffer.resize(end + std::min<uint64_t>(size - end, std::max(end / 2, kGrowth)));
      }
      const size_t count = source->read(buffer.part(end, buffer.size()));
      end += count;
      ended = count == 0;
    }
    return end - begin >= size;
  }

  std::optional<Record> next() {
    if (!fetch(kRecordHeaderSize)) {
      if (begin == end) return std::nullopt;
      throw truncated_record(source->path(), offset, "header");
    }
    const auto header = available().first<kRecordHeaderSize>();
    const uint64_t length = decode_record_length(header);
    if (options.crc != CrcCheck::never && !decode_record_header(header)) {
      fetch(kBytesForHint);
      throw corrupted_length(source->path(), offset, available());
    }
    if (is_impossible_length(length)) throw impossible_length(source->path(), offset, length);
    if (length > options.max_record_size) {
      throw too_long_record(source->path(), offset, length, options.max_record_size);
    }
    if (!fetch(kRecordHeaderSize + length + kRecordFooterSize)) {
      const bool whole_data = end - begin >= kRecordHeaderSize + length;
      throw truncated_record(source->path(), offset, whole_data ? "data CRC" : "data");
    }
    const auto data = available().subspan(kRecordHeaderSize, length);
    const auto footer = available().subspan(kRecordHeaderSize + length).first<kRecordFooterSize>();
    if (options.crc != CrcCheck::never && !record_footer_matches(footer, data)) {
      throw corrupted_data(source->path(), offset, crc32c(data), footer);
    }
    const Record record = {.data = data, .offset = offset, .owner = nullptr};
    begin += kRecordOverhead + length;
    offset += kRecordOverhead + length;
    return record;
  }
};

RecordReader::RecordReader(FileSystem& file_system, const std::string& path,
                           RecordReadOptions options)
    : RecordReader(file_system.open_source(path), options) {}

RecordReader::RecordReader(std::unique_ptr<ByteSource> source, RecordReadOptions options)
    : state_(std::make_unique<State>(std::move(source), options)) {}

RecordReader::~RecordReader() = default;
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;

std::optional<Record> RecordReader::read() {
  if (state_->failure) std::rethrow_exception(state_->failure);
  try {
    return state_->next();
  } catch (...) {
    state_->failure = std::current_exception();
    throw;
  }
}

uint64_t RecordReader::offset() const { return state_->offset; }
Compression RecordReader::compression() const { return state_->compression; }
const std::string& RecordReader::path() const { return state_->source->path(); }

}  // namespace recordpipe
