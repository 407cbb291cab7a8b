// MappedRecordFile (record_reader.h).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/error.h"
#include "dataset/record/record_error.h"
#include "dataset/record/record_format.h"
#include "dataset/record/record_reader.h"
#include "dataset/record/stream_compression.h"

namespace recordpipe {

struct MappedRecordFile::State {
  std::unique_ptr<MappedFile> file;
  bool check_crc;
  // Where each record starts, and where the last one ends.
  std::vector<uint64_t> starts;

  State(std::unique_ptr<MappedFile> mapped, const RecordReadOptions& options)
      : file(std::move(mapped)), check_crc(options.check_crc) {
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
  }

  std::span<const std::byte> bytes() const { return file->bytes(); }

  // The length of the record that starts at `offset`, compared with what is left of the file.
  uint64_t length_at(uint64_t offset) const {
    const auto rest = bytes().subspan(offset);
    if (rest.size() < kRecordHeaderSize) throw truncated_record(file->path(), offset, "header");
    const auto header = rest.first<kRecordHeaderSize>();
    if (check_crc && !decode_record_header(header)) {
      if (file->damaged()) throw cut_while_mapped(file->path(), offset);
      throw corrupted_length(file->path(), offset,
                             rest.first(std::min(rest.size(), kBytesForHint)));
    }
    const uint64_t length = decode_record_length(header);
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

  Record read(size_t i) const {
    const Record record = view(i);
    const auto header = bytes().subspan(record.offset).first<kRecordHeaderSize>();
    const auto footer =
        bytes().subspan(starts[i + 1] - kRecordFooterSize).first<kRecordFooterSize>();
    // The length again, with CRC checks off too: it says that the record still is where it was.
    const bool intact = decode_record_length(header) == record.data.size();
    if (intact && (!check_crc || record_footer_matches(footer, record.data))) return record;
    if (file->damaged()) throw cut_while_mapped(file->path(), record.offset);
    if (!intact) throw corrupted_length(file->path(), record.offset, header);
    throw corrupted_data(file->path(), record.offset, record.data, footer);
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
bool MappedRecordFile::damaged() const { return state_->file->damaged(); }
const std::string& MappedRecordFile::path() const { return state_->file->path(); }

}  // namespace recordpipe
