#include "recordpipe/record/record_reader.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "dataset/io/raw_buffer.h"
#include "dataset/record/record_framing.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/stream_compression.h"

namespace recordpipe {
namespace {

constexpr size_t kReadBufferSize = size_t{256} << 10;
// For a record larger than the buffer, the buffer grows as bytes arrive: by half of its size, but
// at least by kGrowth, up to the size of the record.
constexpr size_t kGrowth = size_t{1} << 20;

}  // namespace

struct RecordReader::State {
  std::unique_ptr<ByteSource> source;
  FramingRules rules;
  RawBuffer buffer{kReadBufferSize};
  // The bytes that were read from the source and not yet returned: buffer[begin, end).
  size_t begin = 0;
  size_t end = 0;
  uint64_t offset = 0;  // of the next record in the decompressed content
  // The record before it has failed: bytes from `begin` on that belong to it, and its offset.
  uint64_t unwanted = 0;
  uint64_t failed_at = 0;
  bool ended = false;
  bool reads_on = false;
  std::exception_ptr failure = nullptr;

  State(std::unique_ptr<ByteSource> raw, const RecordReadOptions& options)
      : rules(framing_rules(options)) {
    DetectedSource detected = detect_source(std::move(raw), options);
    source = std::move(detected.source);
    rules.compression = detected.compression;
  }

  std::span<const std::byte> available() const { return buffer.part(begin, end); }

  // Makes the next `size` bytes available. Returns false if the source has fewer bytes.
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

  // Passes over up to `count` bytes; returns the number of bytes that there were.
  uint64_t pass(uint64_t count) {
    uint64_t passed = 0;
    while (passed < count && (begin < end || fetch(1))) {
      const uint64_t here = std::min<uint64_t>(count - passed, end - begin);
      begin += here;
      passed += here;
    }
    return passed;
  }

  // Whether the place of the record after a failed one is known: the length is checked.
  bool is_next_known(const RecordFrame& frame) const {
    return frame.fault == FramingFault::data_crc ||
           (frame.fault == FramingFault::too_long && rules.check_crc);
  }

  std::optional<Record> next() {
    if (pass(unwanted) < unwanted) {
      throw framing_error({FramingFault::data_cut, 0}, source->path(), failed_at, {}, rules);
    }
    unwanted = 0;
    fetch(kRecordHeaderSize);
    if (begin == end) return std::nullopt;
    RecordFrame frame = parse_record_header(available(), UINT64_MAX, rules);
    if (frame.ok() && !fetch(frame.size())) {
      frame = parse_record_header(available(), end - begin, rules);
    }
    if (frame.ok() && rules.check_crc && !frame.data_fits(available())) {
      frame.fault = FramingFault::data_crc;
    }
    if (!frame.ok()) {
      if (frame.fault != FramingFault::data_crc) fetch(kBytesForHint);
      Error error = framing_error(frame, source->path(), offset, available(), rules);
      reads_on = is_next_known(frame);
      if (reads_on) {
        unwanted = frame.size();
        failed_at = offset;
        offset += frame.size();
      }
      throw error;
    }
    const Record record = {.data = frame.data(available()), .offset = offset};
    begin += frame.size();
    offset += frame.size();
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
  state_->reads_on = false;
  try {
    return state_->next();
  } catch (...) {
    if (!state_->reads_on) state_->failure = std::current_exception();
    throw;
  }
}

bool RecordReader::reads_on() const { return state_->reads_on; }

std::optional<uint64_t> RecordReader::pass_rest(uint64_t most) {
  try {
    return state_->pass(most);
  } catch (const Error&) {
    return std::nullopt;
  }
}

uint64_t RecordReader::offset() const { return state_->offset; }
Compression RecordReader::compression() const { return state_->rules.compression; }
const std::string& RecordReader::path() const { return state_->source->path(); }

}  // namespace recordpipe
