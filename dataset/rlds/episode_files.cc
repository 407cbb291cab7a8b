#include "recordpipe/rlds/episode_files.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include <sys/mman.h>

#include "dataset/record/record_framing.h"
#include "recordpipe/error.h"
#include "recordpipe/philox.h"

namespace recordpipe::rlds {
namespace {

// Smaller units are read by the page fault of their first byte.
constexpr size_t kLargeUnit = 4096;

// A file and its index.
class EpisodeFile {
 public:
  EpisodeFile(FileSystem& file_system, const std::string& path, std::span<const StepLeaf> leaves,
              const StepIndexOptions& options)
      : file_(file_system.map(path)),
        found_(find_step_index(file_system, *file_, leaves, options)),
        checked_(index().records() / 64 + 1) {
    if (found_.is_new) {
      for (auto& bits : checked_) bits = UINT64_MAX;
    }
    // Steps are read in any order. Failures are harmless: more is read than needed.
    const std::span<const std::byte> bytes = file_->bytes();
    if (!bytes.empty()) {
      ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_RANDOM);
    }
  }

  const StepIndex& index() const { return found_.index; }
  const std::string& path() const { return file_->path(); }

  Record record(uint64_t number) const {
    const uint64_t offset = index().offset(number);
    const uint64_t size = index().length(number) + kRecordOverhead;
    const auto framed = file_->bytes().subspan(offset, size);
    std::atomic<uint64_t>& bits = checked_[number / 64];
    const uint64_t bit = uint64_t{1} << number % 64;
    // Benign race: the bits publish no other data; a record may be checked twice.
    if ((bits.load(std::memory_order_relaxed) & bit) == 0) {
      file_->hint(offset, size, ReadHint::will_need);
      check(number, framed);
      bits.fetch_or(bit, std::memory_order_relaxed);
    }
    return {.data = framed.subspan(kRecordHeaderSize, size - kRecordOverhead),
            .offset = offset,
            .path = path()};
  }

  void prefetch(uint64_t record, size_t leaf, uint64_t unit) const {
    try {
      const auto range = index().unit(record, leaf, unit);
      if (!range || range->size < kLargeUnit) return;
      const uint64_t data = index().offset(record) + kRecordHeaderSize;
      file_->hint(data + range->offset, range->size, ReadHint::will_need);
    } catch (const Error&) {
      // Reading the unit will report it.
    }
  }

 private:
  void check(uint64_t number, std::span<const std::byte> framed) const {
    const uint64_t offset = index().offset(number);
    RecordFrame frame = parse_record_header(framed, framed.size());
    const bool is_here = frame.ok() && frame.size() == framed.size();
    if (is_here && frame.data_fits(framed)) {
      if (load_little_endian<uint32_t>(frame.footer(framed).data()) == index().crc(number)) return;
      throw Error({.kind = ErrorKind::checksum_mismatch,
                   .path = path(),
                   .offset = offset,
                   .reason = "another record than the one in the index of steps",
                   .hint = "remove " + step_index_path(path()) +
                           " (or the one in the cache): it is made again"});
    }
    if (file_->damaged()) throw cut_while_mapped(path(), offset);
    frame.fault = is_here ? FramingFault::data_crc : FramingFault::length_crc;
    throw framing_error(frame, path(), offset, is_here ? framed : framed.first(kRecordHeaderSize));
  }

  std::shared_ptr<const MappedFile> file_;
  FoundStepIndex found_;
  mutable std::vector<std::atomic<uint64_t>> checked_;  // a bit per record
};

// Consecutive records of a file.
struct Part {
  size_t file = 0;
  uint64_t first_record = 0;
  uint64_t episodes_end = 0;  // episodes of all parts up to the end of this one
  uint64_t steps_end = 0;
};

}  // namespace

struct EpisodeFiles::State {
  std::vector<StepLeaf> leaves;
  std::vector<std::unique_ptr<const EpisodeFile>> files;
  std::vector<Part> parts;  // without empty ones
  uint64_t fingerprint = 0;

  uint64_t steps_before(size_t part) const { return part == 0 ? 0 : parts[part - 1].steps_end; }
  uint64_t episodes_before(size_t part) const {
    return part == 0 ? 0 : parts[part - 1].episodes_end;
  }

  void add(size_t file, const EpisodeSlice& slice) {
    const StepIndex& index = files[file]->index();
    if (slice.records && *slice.records != index.records()) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = slice.path,
                   .reason = std::to_string(index.records()) + " records, not the " +
                             std::to_string(*slice.records) + " of dataset_info.json"});
    }
    const uint64_t end = std::min(slice.end, index.records());
    const uint64_t first = std::min(slice.first, end);
    for (const uint64_t number : {index.fingerprint(), first, end}) {
      fingerprint = derive_key(fingerprint, number);
    }
    if (first == end) return;
    parts.push_back({.file = file,
                     .first_record = first,
                     .episodes_end = episodes_before(parts.size()) + end - first,
                     .steps_end = steps_before(parts.size()) + index.first_step(end) -
                                  index.first_step(first)});
  }

  StepPlace place(size_t file, uint64_t record, uint64_t step) const {
    const StepIndex& index = files[file]->index();
    return {file, record, step, index.first_step(record + 1) - index.first_step(record)};
  }
};

EpisodeFiles::EpisodeFiles(std::unique_ptr<State> state) : state_(std::move(state)) {}
EpisodeFiles::~EpisodeFiles() = default;

std::shared_ptr<const EpisodeFiles> EpisodeFiles::open(const std::vector<EpisodeSlice>& slices,
                                                       std::vector<StepLeaf> leaves,
                                                       const StepIndexOptions& options,
                                                       FileSystem& file_system) {
  auto state = std::make_unique<State>();
  state->leaves = std::move(leaves);
  std::map<std::string, size_t> numbers;
  for (const EpisodeSlice& slice : slices) {
    const auto [at, is_new] = numbers.try_emplace(slice.path, state->files.size());
    if (is_new) {
      state->files.push_back(
          std::make_unique<EpisodeFile>(file_system, slice.path, state->leaves, options));
    }
    state->add(at->second, slice);
  }
  return std::shared_ptr<const EpisodeFiles>(new EpisodeFiles(std::move(state)));
}

uint64_t EpisodeFiles::steps() const { return state_->steps_before(state_->parts.size()); }
uint64_t EpisodeFiles::episodes() const { return state_->episodes_before(state_->parts.size()); }
const std::vector<StepLeaf>& EpisodeFiles::leaves() const { return state_->leaves; }

StepPlace EpisodeFiles::step(uint64_t number) const {
  const auto part = std::ranges::upper_bound(state_->parts, number, {}, &Part::steps_end);
  const StepIndex& index = state_->files[part->file]->index();
  const uint64_t in_part =
      number - state_->steps_before(static_cast<size_t>(part - state_->parts.begin()));
  const uint64_t in_file = in_part + index.first_step(part->first_record);
  const uint64_t record = index.record_of(in_file);
  return state_->place(part->file, record, in_file - index.first_step(record));
}

StepPlace EpisodeFiles::episode(uint64_t number) const {
  const auto part = std::ranges::upper_bound(state_->parts, number, {}, &Part::episodes_end);
  const uint64_t in_part =
      number - state_->episodes_before(static_cast<size_t>(part - state_->parts.begin()));
  return state_->place(part->file, part->first_record + in_part, 0);
}

uint64_t EpisodeFiles::first_step(uint64_t episode) const {
  const auto part = std::ranges::upper_bound(state_->parts, episode, {}, &Part::episodes_end);
  const auto number = static_cast<size_t>(part - state_->parts.begin());
  const StepIndex& index = state_->files[part->file]->index();
  const uint64_t record = part->first_record + episode - state_->episodes_before(number);
  return state_->steps_before(number) + index.first_step(record) -
         index.first_step(part->first_record);
}

Record EpisodeFiles::record(const StepPlace& place) const {
  return state_->files[place.file]->record(place.record);
}

std::optional<std::span<const std::byte>> EpisodeFiles::unit(const StepPlace& place,
                                                             const Record& record, size_t leaf,
                                                             uint64_t unit) const {
  const auto range = state_->files[place.file]->index().unit(place.record, leaf, unit);
  if (!range) return std::nullopt;
  return record.data.subspan(range->offset, range->size);
}

void EpisodeFiles::prefetch(const StepPlace& place, size_t leaf, uint64_t unit) const {
  state_->files[place.file]->prefetch(place.record, leaf, unit);
}

uint64_t EpisodeFiles::fingerprint() const { return state_->fingerprint; }

std::string EpisodeFiles::first_path() const {
  return state_->files.empty() ? std::string() : state_->files.front()->path();
}

}  // namespace recordpipe::rlds
