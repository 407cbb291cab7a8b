// MappedRecordFile (record_reader.h).
#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/error.h"
#include "dataset/checksum/crc32c.h"
#include "dataset/record/record_error.h"
#include "dataset/record/record_format.h"
#include "dataset/record/record_reader.h"
#include "dataset/record/stream_compression.h"

namespace recordpipe {

struct MappedRecordFile::State {
  std::unique_ptr<MappedFile> file;
  CrcCheck crc;
  // Where each record starts, and where the last one ends.
  std::vector<uint64_t> starts;
  // A bit for each record whose CRC was right. Nothing is published with it, so threads may set it
  // in any order, or check a record twice.
  mutable std::vector<std::atomic<uint64_t>> checked;

  State(std::unique_ptr<MappedFile> mapped, const RecordReadOptions& options)
      : file(std::move(mapped)), crc(options.crc) {
    const auto head = bytes().first(std::min(bytes().size(), kRecordHeaderSize));
    const Compression compression = detect_record_compression(head, options);
    if (compression != Compression::none) {
      throw Error({.kind = ErrorKind::unsupported,
                   .path = file->path(),
                   .reason = "compressed with " + std::string(to_string(compression)) +
                             ", which can't be mapped",
                   .hint = "read it as a stream, or decompress it first"});
    }
    uint64_t offset = 0;
    while (offset < bytes().size()) {
      starts.push_back(offset);
      offset += kRecordOverhead + length_at(offset);
    }
    starts.push_back(offset);
    starts.shrink_to_fit();
    if (crc == CrcCheck::once) checked = std::vector<std::atomic<uint64_t>>(starts.size() / 64 + 1);
  }

  std::span<const std::byte> bytes() const { return file->bytes(); }

  // The length of the record that starts at `offset`, compared with what is left of the file.
  uint64_t length_at(uint64_t offset) const {
    const auto rest = bytes().subspan(offset);
    if (rest.size() < kRecordHeaderSize) throw truncated_record(file->path(), offset, "header");
    const auto header = rest.first<kRecordHeaderSize>();
    if (crc != CrcCheck::never && !decode_record_header(header)) {
      if (file->damaged()) throw cut_while_mapped(file->path(), offset);
      throw corrupted_length(file->path(), offset,
                             rest.first(std::min(rest.size(), kBytesForHint)));
    }
    const uint64_t length = decode_record_length(header);
    if (is_impossible_length(length)) throw impossible_length(file->path(), offset, length);
    const uint64_t left = rest.size() - kRecordHeaderSize;
    if (length > left) throw truncated_record(file->path(), offset, "data");
    if (left - length < kRecordFooterSize) {
      throw truncated_record(file->path(), offset, "data CRC");
    }
    return length;
  }

  Record view(size_t i) const {
    const uint64_t length = starts[i + 1] - starts[i] - kRecordOverhead;
    return {.data = bytes().subspan(starts[i] + kRecordHeaderSize, length),
            .offset = starts[i],
            .owner = nullptr};
  }

  void prefetch(size_t i) const {
    constexpr uint64_t kLine = 64;
    constexpr uint64_t kMost = uint64_t{4} << 10;
    const std::byte* const begin = bytes().data() + starts[i];
    const uint64_t size = starts[i + 1] - starts[i];
    const auto fetch = [&](uint64_t from, uint64_t to) {
      for (uint64_t at = from; at < to; at += kLine) __builtin_prefetch(begin + at);
    };
    if (needs_check(i) || size <= 4 * kLine) {
      fetch(0, std::min(size, kMost));
    } else {
      // As much as the header and the small features of an Example, before or after a large one.
      fetch(0, 2 * kLine);
      fetch(size - 2 * kLine, size);
    }
  }

  bool needs_check(size_t i) const {
    if (crc != CrcCheck::once) return crc == CrcCheck::always;
    return (checked[i / 64].load(std::memory_order_relaxed) >> i % 64 & 1) == 0;
  }

  bool is_right(size_t i, std::span<const std::byte> data,
                std::span<const std::byte, kRecordFooterSize> footer) const {
    if (!needs_check(i)) return true;
    if (!record_footer_matches(footer, data)) return false;
    if (crc == CrcCheck::once) {
      checked[i / 64].fetch_or(uint64_t{1} << i % 64, std::memory_order_relaxed);
    }
    return true;
  }

  Record read(size_t i) const {
    const Record record = view(i);
    const auto header = bytes().subspan(record.offset).first<kRecordHeaderSize>();
    const auto footer =
        bytes().subspan(starts[i + 1] - kRecordFooterSize).first<kRecordFooterSize>();
    // The length again, with CRC checks off too: it says that the record still is where it was.
    const bool intact = decode_record_length(header) == record.data.size();
    if (intact && is_right(i, record.data, footer)) return record;
    if (file->damaged()) throw cut_while_mapped(file->path(), record.offset);
    if (!intact) throw corrupted_length(file->path(), record.offset, header);
    throw corrupted_data(file->path(), record.offset, crc32c(record.data), footer);
  }
};

MappedRecordFile::MappedRecordFile(FileSystem& file_system, const std::string& path,
                                   RecordReadOptions options)
    : state_(std::make_unique<State>(file_system.map(path), options)) {}

MappedRecordFile::~MappedRecordFile() = default;
MappedRecordFile::MappedRecordFile(MappedRecordFile&&) noexcept = default;
MappedRecordFile& MappedRecordFile::operator=(MappedRecordFile&&) noexcept = default;

size_t MappedRecordFile::size() const { return state_->starts.size() - 1; }
Record MappedRecordFile::read(size_t i) const { return state_->read(i); }
Record MappedRecordFile::view(size_t i) const { return state_->view(i); }
void MappedRecordFile::prefetch(size_t i) const { state_->prefetch(i); }
std::span<const std::byte> MappedRecordFile::bytes() const { return state_->bytes(); }
bool MappedRecordFile::damaged() const { return state_->file->damaged(); }
const std::string& MappedRecordFile::path() const { return state_->file->path(); }

}  // namespace recordpipe
