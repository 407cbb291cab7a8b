// Implements MappedRecordFile (record_reader.h) and RecordFileOpening.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/record/record_file_opening.h"
#include "dataset/record/record_framing.h"
#include "dataset/record/record_header_reader.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

namespace {

// Up to this size, walking the headers is faster than opening an index.
constexpr uint64_t kSmallFile = uint64_t{1} << 20;
// The number of headers that are compared with an index.
constexpr size_t kSample = 16;
// The number of records between two checks for a stop request.
constexpr size_t kStopInterval = 4096;
// More than one, because the memory latency exceeds the time to return one record without checking
// its CRC.
constexpr size_t kPrefetchedInMemory = 8;
constexpr size_t kPrefetchedAtADistance = 32;

// Opens the index of the file at `path`; null if there is none.
std::unique_ptr<ByteSource> open_index(FileSystem& file_system, const std::string& path) {
  const std::string index_path = record_index_path(path);
  if (!regular_file_size(file_system, index_path)) return nullptr;
  return file_system.open_source(index_path);
}

// Returns the offsets of the records and the end of the last record, from the index of the file at
// `path`. Empty if open() finds no valid index for a file of `size` bytes.
std::vector<uint64_t> indexed_starts(const Opening<ByteSource>& open, const std::string& path,
                                     uint64_t size, const std::stop_token& stop) {
  std::vector<uint64_t> starts;
  try {
    auto source = open();
    if (!source) return {};
    RecordIndexReader index(std::move(source));
    while (const auto entry = index.read()) {
      if (entry->end() > size) return {};
      if (starts.size() % kStopInterval == 0) throw_if_stopped(stop, path);
      starts.push_back(entry->offset);
    }
    if (index.end() != size) return {};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    return {};
  }
  starts.push_back(size);
  return starts;
}

}  // namespace

struct MappedRecordFile::State {
  const std::shared_ptr<const RandomAccessFile> file;
  const bool stable;
  std::span<const std::byte> bytes;  // the whole file, if it is stable
  FramingRules rules;                // for a file that is not stable
  CrcCheck crc;
  // The offset of each record, and the end of the last one.
  std::vector<uint64_t> starts;
  // `starts` is from an index: read() must verify each header.
  bool is_indexed = false;
  // One bit per record: whether its CRC was found correct. Benign race: the bits publish no other
  // data, so threads may set them in any order and check a record twice.
  mutable std::vector<std::atomic<uint64_t>> checked;

  State(std::shared_ptr<const RandomAccessFile> opened, const RecordReadOptions& options)
      : file(std::move(opened)),
        stable(file->stable()),
        rules(framing_rules(options)),
        crc(options.crc) {
    if (stable) bytes = file->read(0, file->size(), {});
    // The file may change between reads, so each read is checked.
    if (!stable && crc == CrcCheck::once) crc = CrcCheck::always;
    const Compression compression = detect_compression(*file, options);
    if (compression != Compression::none) {
      throw Error({.kind = ErrorKind::unsupported,
                   .path = file->path(),
                   .reason = "compressed with " + std::string(to_string(compression)) +
                             ", which can't be mapped",
                   .hint = "read it as a stream, or decompress it first"});
    }
  }

  bool uses_index(const RecordMapOptions& options) const {
    return options.use_index && crc != CrcCheck::never;
  }
  // Whether an index is looked for before the headers are walked.
  bool wants_index(const RecordMapOptions& options) const {
    return uses_index(options) && file->size() > kSmallFile;
  }

  // `starts` is that of an index, or empty.
  void find_records(const Opening<ByteSource>& index, const RecordMapOptions& options) {
    is_indexed = !starts.empty() && sample_fits();
    if (!is_indexed) walk_or_use(index, options);
    starts.shrink_to_fit();
    if (crc == CrcCheck::once) checked = std::vector<std::atomic<uint64_t>>(starts.size() / 64 + 1);
  }

  // Walks the headers; at damage, tries the index.
  void walk_or_use(const Opening<ByteSource>& index, const RecordMapOptions& options) {
    try {
      walk(options.stop);
    } catch (const Error& error) {
      if (!uses_index(options) || error.kind() != ErrorKind::corrupted) throw;
      const std::vector<uint64_t> walked =
          std::exchange(starts, indexed_starts(index, file->path(), file->size(), options.stop));
      is_indexed =
          starts.size() > walked.size() && std::equal(walked.begin(), walked.end(), starts.begin());
      if (!is_indexed) throw;
    }
  }

  // Collects the offsets of the records. If a record is damaged, throws; the last element of
  // `starts` is then the offset of that record.
  void walk(const std::stop_token& stop) {
    starts.clear();
    RecordHeaderReader headers(*file, {.crc = crc});
    // A file that is not stable may need a request for each header.
    const size_t interval = stable ? kStopInterval : 1;
    do {
      if (starts.size() % interval == 0) throw_if_stopped(stop, file->path());
      starts.push_back(headers.offset());
    } while (headers.read());
  }

  bool sample_fits() const {
    const size_t records = starts.size() - 1;
    std::vector<RecordIndexEntry> sample;
    for (size_t i = 0; i < kSample && records > 0; ++i) {
      const size_t number = i * (records - 1) / (kSample - 1);
      sample.push_back({starts[number], size_of(number)});
    }
    return !find_misfit(*file, sample);
  }

  // The size of record i with framing.
  uint64_t size_of(size_t i) const { return starts[i + 1] - starts[i]; }

  // Reads record i, with framing, from a file that is not stable.
  std::shared_ptr<const std::byte[]> fetch(size_t i) const {
    const RecordFrame frame = {FramingFault::too_long, size_of(i) - kRecordOverhead};
    if (frame.length > rules.max_record_size) {
      throw framing_error(frame, file->path(), starts[i], {}, rules);
    }
    auto record = std::make_shared_for_overwrite<std::byte[]>(frame.size());
    if (file->read_at(starts[i], {record.get(), frame.size()}) < frame.size()) {
      throw cut_while_mapped(file->path(), starts[i]);
    }
    return record;
  }

  Record view(size_t i) const { return stable ? record_at(i, bytes.data() + starts[i]) : own(i); }

  // Returns record i, whose framing begins at `begin`.
  Record record_at(size_t i, const std::byte* begin) const {
    return {.data = {begin + kRecordHeaderSize, size_of(i) - kRecordOverhead},
            .offset = starts[i],
            .owner = nullptr};
  }

  // Returns record i, read into memory that the record owns.
  Record own(size_t i) const {
    auto bytes_of_record = fetch(i);
    Record record = record_at(i, bytes_of_record.get());
    record.owner = std::move(bytes_of_record);
    return record;
  }

  void prefetch(size_t i) const {
    if (!stable) return file->hint(starts[i], size_of(i), ReadHint::will_need);
    constexpr uint64_t kLine = 64;
    constexpr uint64_t kMax = uint64_t{4} << 10;
    const std::byte* const begin = bytes.data() + starts[i];
    const uint64_t size = size_of(i);
    const auto fetch = [&](uint64_t from, uint64_t to) {
      for (uint64_t at = from; at < to; at += kLine) __builtin_prefetch(begin + at);
    };
    if (needs_check(i) || size <= 4 * kLine) {
      fetch(0, std::min(size, kMax));
    } else {
      // The header and the small features of an Example, before or after a large feature.
      fetch(0, 2 * kLine);
      fetch(size - 2 * kLine, size);
    }
  }

  bool needs_check(size_t i) const {
    if (crc != CrcCheck::once) return crc == CrcCheck::always;
    return (checked[i / 64].load(std::memory_order_relaxed) >> i % 64 & 1) == 0;
  }

  bool is_right(size_t i, const RecordFrame& frame, std::span<const std::byte> record) const {
    if (!needs_check(i)) return true;
    if (!frame.data_fits(record)) return false;
    if (crc == CrcCheck::once) {
      checked[i / 64].fetch_or(uint64_t{1} << i % 64, std::memory_order_relaxed);
    }
    return true;
  }

  Record read(size_t i) const {
    Record record = view(i);
    check(i, {record.data.data() - kRecordHeaderSize, size_of(i)});
    return record;
  }

  // Throws if `record` (with framing) is damaged, or is not record i.
  void check(size_t i, std::span<const std::byte> record) const {
    // Compares the length again, even without CRC checks: a different length shows that the file
    // was modified.
    RecordFrame frame = parse_record_header(record, record.size(), {.check_crc = is_indexed});
    const bool is_here = frame.ok() && frame.size() == record.size();
    if (is_here && is_right(i, frame, record)) return;
    if (file->damaged()) throw cut_while_mapped(file->path(), starts[i]);
    if (!is_here && is_indexed) throw not_as_indexed(file->path(), starts[i], record.size());
    frame.fault = is_here ? FramingFault::data_crc : FramingFault::length_crc;
    throw framing_error(frame, file->path(), starts[i],
                        is_here ? record : record.first(kRecordHeaderSize));
  }
};

MappedRecordFile::MappedRecordFile(std::unique_ptr<State> state) : state_(std::move(state)) {}

MappedRecordFile::MappedRecordFile(FileSystem& file_system, const std::string& path,
                                   RecordReadOptions options, const RecordMapOptions& map_options)
    : state_(std::make_unique<State>(map_options.file ? map_options.file : file_system.map(path),
                                     options)) {
  const auto index = [&] { return open_index(file_system, path); };
  if (state_->wants_index(map_options)) {
    state_->starts = indexed_starts(index, path, state_->file->size(), map_options.stop);
  }
  state_->find_records(index, map_options);
}

MappedRecordFile::~MappedRecordFile() = default;
MappedRecordFile::MappedRecordFile(MappedRecordFile&&) noexcept = default;
MappedRecordFile& MappedRecordFile::operator=(MappedRecordFile&&) noexcept = default;

size_t MappedRecordFile::size() const { return state_->starts.size() - 1; }
Record MappedRecordFile::read(size_t i) const { return state_->read(i); }
Record MappedRecordFile::view(size_t i) const { return state_->view(i); }
void MappedRecordFile::prefetch(size_t i) const { state_->prefetch(i); }
size_t MappedRecordFile::prefetch_distance() const {
  return state_->stable ? kPrefetchedInMemory : kPrefetchedAtADistance;
}
std::span<const std::byte> MappedRecordFile::bytes() const { return state_->bytes; }
bool MappedRecordFile::damaged() const { return state_->file->damaged(); }
const std::string& MappedRecordFile::path() const { return state_->file->path(); }

RecordFileOpening::RecordFileOpening(FileSystem& file_system, const std::string& path,
                                     const RecordReadOptions& options, std::stop_token stop,
                                     OpeningCrews& crews)
    : file_system_(file_system),
      path_(path),
      options_(options),
      map_options_{.use_index = true, .stop = std::move(stop)},
      opening_(file_system.start_random(path)),
      crews_(crews) {}

RecordFileOpening::~RecordFileOpening() = default;

bool RecordFileOpening::step() {
  if (!std::exchange(is_left_, false)) return false;
  const internal::CallStopScope scope(map_options_.stop);
  if (!state_) {
    auto state = std::make_unique<MappedRecordFile::State>(opening_(), options_);
    if (state->wants_index(map_options_)) {
      index_ = file_system_.start_source(record_index_path(path_));
    } else if (state->file->size() <= kSmallFile) {
      state->file->hint(0, state->file->size(), ReadHint::will_need);
    }
    state_ = std::move(state);
    return is_left_ = true;
  }
  if (const auto index = std::exchange(index_, {})) {
    state_->starts = indexed_starts(index, path_, state_->file->size(), map_options_.stop);
    if (state_->starts.empty()) return is_left_ = true;
  }
  state_->find_records([this] { return open_index(file_system_, path_); }, map_options_);
  is_open_ = true;
  return false;
}

parallel::Crew& RecordFileOpening::crew() const {
  const bool walks =
      state_ && !index_ && state_->starts.empty() && state_->file->size() > kSmallFile;
  return walks ? crews_.walking() : crews_.waiting();
}

bool RecordFileOpening::finish() {
  while (step()) {
  }
  return is_open_;
}

const std::shared_ptr<const RandomAccessFile>& RecordFileOpening::file() const {
  return state_->file;
}

MappedRecordFile RecordFileOpening::take() {
  is_open_ = false;
  return MappedRecordFile(std::move(state_));
}

}  // namespace recordpipe
