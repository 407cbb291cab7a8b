#include "recordpipe/record/record_index.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "dataset/record/record_framing.h"
#include "dataset/record/record_header_reader.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/philox.h"

namespace recordpipe {
namespace {

// Two numbers of 20 digits, a space and the newline.
constexpr size_t kLongestLine = 42;
constexpr size_t kIndexBufferSize = size_t{64} << 10;

constexpr std::string_view kMakeAnew =
    "the index belongs to another file, or is older than this one: recreate it (tfrecord index)";

// Parses a decimal number, without a sign or leading zeros, at `begin`. Returns its end, or null.
const char* parse_decimal(const char* begin, const char* end, uint64_t& number) {
  const auto [stopped, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || (*begin == '0' && stopped != begin + 1)) return nullptr;
  return stopped;
}

// Not by parse_number(), whose std::optional results double the time of reading an index.
std::optional<RecordIndexEntry> parse_line(std::string_view line) {
  const char* const end = line.data() + line.size();
  RecordIndexEntry entry;
  const char* const blank = parse_decimal(line.data(), end, entry.offset);
  if (blank == nullptr || blank == end || *blank != ' ') return std::nullopt;
  if (parse_decimal(blank + 1, end, entry.size) != end) return std::nullopt;
  return entry;
}

std::string start_and_size(const RecordIndexEntry& entry) {
  return std::to_string(entry.size) + " bytes at " + std::to_string(entry.offset);
}

// Draws a uniform sample from the entries of an index of unknown length (reservoir sampling:
// Vitter, "Random sampling with a reservoir", 1985, algorithm R), and adds the first and the last
// entry. Deterministic.
class EntrySample {
 public:
  void add(const RecordIndexEntry& entry, uint64_t number) {
    if (number < kSize) {
      entries_.push_back(entry);
      return;
    }
    last_ = entry;
    // Slot 0 keeps the first entry.
    const uint64_t place = random_.below64(number);
    if (place < kSize - 1) entries_[1 + place] = entry;
  }

  std::vector<RecordIndexEntry> take() && {
    if (last_) entries_.push_back(*last_);
    return std::move(entries_);
  }

 private:
  static constexpr uint64_t kSize = 15;

  std::vector<RecordIndexEntry> entries_;
  std::optional<RecordIndexEntry> last_;
  Random random_{derive_key(0, 0), 0, 0};
};

// Whether the next header of a file is the header of `entry`.
bool next_is(RecordHeaderReader& headers, const RecordIndexEntry& entry) {
  try {
    return headers.read() == entry;
  } catch (const Error& error) {
    if (!is_damage(error.kind())) throw;
    return false;
  }
}

}  // namespace

std::string record_index_path(const std::string& path) {
  return std::string(path).insert(without_query(path).size(), ".idx");
}

RecordIndexReader::RecordIndexReader(FileSystem& file_system, const std::string& path)
    : RecordIndexReader(file_system.open_source(path)) {}

RecordIndexReader::RecordIndexReader(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), buffer_(kIndexBufferSize) {}

void RecordIndexReader::refuse(std::string reason) const {
  throw Error(
      {.kind = ErrorKind::corrupted,
       .path = path(),
       .offset = line_offset_,
       .reason = "line " + std::to_string(records_ + 1) + " of the index: " + std::move(reason),
       .hint = "not an index of a TFRecord file, or damaged: recreate it (tfrecord index)"});
}

std::optional<std::string_view> RecordIndexReader::next_line() {
  line_offset_ = next_offset_;
  size_t newline = 0;  // relative to used_
  while (true) {
    const std::string_view rest(buffer_.data() + used_, filled_ - used_);
    newline = rest.find('\n', newline);
    if (newline != std::string_view::npos) {
      used_ += newline + 1;
      next_offset_ += newline + 1;
      return rest.substr(0, newline);
    }
    if (rest.size() >= kLongestLine) refuse("too long");
    newline = rest.size();
    if (filled_ == buffer_.size()) {
      std::memmove(buffer_.data(), rest.data(), rest.size());
      filled_ = rest.size();
      used_ = 0;
    }
    const size_t count = source_->read(std::as_writable_bytes(std::span(buffer_).subspan(filled_)));
    filled_ += count;
    if (count > 0) continue;
    if (used_ == filled_) return std::nullopt;
    throw Error({.kind = ErrorKind::truncated,
                 .path = path(),
                 .offset = line_offset_,
                 .reason = "the index ends inside line " + std::to_string(records_ + 1),
                 .hint = "recreate it (tfrecord index)"});
  }
}

std::optional<RecordIndexEntry> RecordIndexReader::read() {
  const auto line = next_line();
  if (!line) return std::nullopt;
  const auto entry = parse_line(*line);
  if (!entry) refuse("not \"START SIZE\"");
  if (entry->offset != end_) {
    refuse("a record at " + std::to_string(entry->offset) + ", the next one must start at " +
           std::to_string(end_));
  }
  if (entry->size < kRecordOverhead) {
    refuse("a record of " + std::to_string(entry->size) + " bytes, less than its framing");
  }
  if (entry->size > UINT64_MAX - entry->offset) refuse("a record beyond the largest file size");
  records_ += 1;
  end_ = entry->end();
  return entry;
}

std::optional<RecordIndexEntry> RecordIndexReader::entry(uint64_t n) {
  if (n < records_) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = path(),
                 .reason = "entry " + std::to_string(n) + " of the index was already read"});
  }
  while (records_ < n) {
    if (!read()) return std::nullopt;
  }
  return read();
}

RecordIndexWriter::RecordIndexWriter(ByteSink& sink) : sink_(sink) {
  buffer_.reserve(kIndexBufferSize);
}

void RecordIndexWriter::write(uint64_t size) {
  if (size < kRecordOverhead) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = sink_.path(),
                 .reason = "an index entry of " + std::to_string(size) + " bytes"});
  }
  if (buffer_.size() + kLongestLine > kIndexBufferSize) flush();
  buffer_ += std::to_string(end_);
  buffer_ += ' ';
  buffer_ += std::to_string(size);
  buffer_ += '\n';
  records_ += 1;
  end_ += size;
}

void RecordIndexWriter::flush() {
  if (buffer_.empty()) return;
  sink_.write(std::as_bytes(std::span(buffer_)));
  buffer_.clear();
}

void RecordIndexWriter::close() { flush(); }

namespace {

// Reads the framed record of `entry` by calling read(), and checks it.
template <typename Read>
std::span<const std::byte> checked_record(const RandomAccessFile& file,
                                          const RecordIndexEntry& entry,
                                          const RecordReadOptions& options, const Read& read) {
  const auto refuse = [&](std::string reason) {
    throw Error({.kind = ErrorKind::corrupted,
                 .path = file.path(),
                 .offset = entry.offset,
                 .reason = std::move(reason),
                 .hint = std::string(kMakeAnew)});
  };
  const bool inside = entry.size >= kRecordOverhead && entry.offset <= file.size() &&
                      entry.size <= file.size() - entry.offset;
  if (!inside) {
    refuse("the file ends before the record of " + std::to_string(entry.size) + " bytes");
  }
  const FramingRules rules = framing_rules(options);
  const auto fail = [&](FramingFault fault, std::span<const std::byte> record) {
    throw framing_error({fault, entry.length()}, file.path(), entry.offset, record, rules);
  };
  if (entry.length() > rules.max_record_size) fail(FramingFault::too_long, {});
  const std::span<const std::byte> record = read();
  if (record.size() < entry.size) fail(FramingFault::data_cut, {});
  if (!is_record_header(record, entry.size, rules)) {
    throw not_as_indexed(file.path(), entry.offset, entry.size);
  }
  if (rules.check_crc && !RecordFrame{.length = entry.length()}.data_fits(record))
    fail(FramingFault::data_crc, record);
  return record;
}

}  // namespace

std::vector<std::byte> read_indexed_record(const RandomAccessFile& file,
                                           const RecordIndexEntry& entry,
                                           const RecordReadOptions& options) {
  std::vector<std::byte> record;
  checked_record(file, entry, options, [&] {
    record.resize(entry.size);
    return std::span<const std::byte>(record).first(file.read_at(entry.offset, record));
  });
  record.erase(record.end() - kRecordFooterSize, record.end());
  record.erase(record.begin(), record.begin() + kRecordHeaderSize);
  return record;
}

std::span<const std::byte> view_indexed_record(const RandomAccessFile& file,
                                               const RecordIndexEntry& entry,
                                               const RecordReadOptions& options,
                                               std::vector<std::byte>& scratch) {
  const auto record = checked_record(file, entry, options, [&] {
    if (!file.stable() && scratch.size() < entry.size) scratch.resize(entry.size);
    const std::span<std::byte> room = scratch;
    return file.read(entry.offset, entry.size, room.first(file.stable() ? 0 : entry.size));
  });
  return record.subspan(kRecordHeaderSize, entry.length());
}

uint64_t check_record_index(RecordIndexReader& index, const RandomAccessFile& file,
                            IndexedHeaders headers) {
  const auto refuse = [&](std::string reason) {
    throw Error({.kind = ErrorKind::checksum_mismatch,
                 .path = index.path(),
                 .reason = std::move(reason),
                 .hint = std::string(kMakeAnew)});
  };
  const auto refuse_record = [&](const RecordIndexEntry& entry) {
    refuse("the file has no record of " + start_and_size(entry) + ", unlike the index");
  };
  EntrySample sample;
  RecordHeaderReader file_headers(file);
  while (const auto entry = index.read()) {
    if (entry->end() > file.size()) {
      refuse("the index has a record of " + start_and_size(*entry) + ", and the file ends at " +
             std::to_string(file.size()));
    }
    if (headers == IndexedHeaders::some) {
      sample.add(*entry, index.records() - 1);
    } else if (!next_is(file_headers, *entry)) {
      refuse_record(*entry);
    }
  }
  if (index.end() != file.size()) {
    refuse("the index ends at " + std::to_string(index.end()) + ", and the file at " +
           std::to_string(file.size()));
  }
  if (const auto misfit = find_misfit(file, std::move(sample).take())) refuse_record(*misfit);
  return index.records();
}

}  // namespace recordpipe
