#include "recordpipe/rlds/episode_files.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include <sys/mman.h>

#include "dataset/record/record_framing.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/checksum/crc32c.h"

namespace recordpipe::rlds {
namespace {

// Smaller units are read by the page fault of their first byte.
constexpr size_t kLargeUnit = 4096;

// Steps are read in any order: a page fault must not read the pages around it, too. Whoever reads
// more in a row hints at it. Failures of madvise() are harmless.
std::shared_ptr<const MappedFile> map_for_steps(FileSystem& file_system, const std::string& path) {
  std::shared_ptr<const MappedFile> file = file_system.map(path);
  const std::span<const std::byte> bytes = file->bytes();
  if (!bytes.empty()) {
    ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_RANDOM);
  }
  return file;
}

// A file and its index.
class EpisodeFile {
 public:
  EpisodeFile(FileSystem& file_system, const std::string& path, std::span<const StepLeaf> leaves,
              const StepIndexOptions& options)
      : file_(map_for_steps(file_system, path)),
        index_(find_step_index(file_system, *file_, leaves, options)),
        leaves_(leaves.size()),
        checked_(index_.records() * leaves_ / 64 + 1) {}

  const StepIndex& index() const { return index_; }
  const std::string& path() const { return file_->path(); }

  // Nothing of the record is read.
  Record record(uint64_t number) const {
    const auto framed = this->framed(number);
    return {.data = framed.subspan(kRecordHeaderSize, index_.length(number)),
            .offset = index_.offset(number),
            .path = path()};
  }

  std::optional<std::span<const std::byte>> unit(uint64_t number, size_t leaf,
                                                 uint64_t unit) const {
    const auto place = index_.unit(number, leaf, unit);
    if (!place) {
      // It is parsed: a rare encoding, so that the record is checked each time.
      check(number);
      return std::nullopt;
    }
    const std::span<const std::byte> data = record(number).data;
    const uint64_t bit = number * leaves_ + leaf;
    std::atomic<uint64_t>& bits = checked_[bit / 64];
    const uint64_t mask = uint64_t{1} << bit % 64;
    // Benign race: the bits publish no other data; units may be checked twice.
    if (!place->is_shared || (bits.load(std::memory_order_relaxed) & mask) == 0) {
      if (crc32c(data.subspan(place->guarded.offset, place->guarded.size)) != place->crc) {
        check(number);
        throw Error({.kind = ErrorKind::corrupted,
                     .path = path(),
                     .offset = index_.offset(number),
                     .reason = "the record is intact, and its index of steps is not",
                     .hint = remove_hint()});
      }
      if (place->is_shared) bits.fetch_or(mask, std::memory_order_relaxed);
    }
    return data.subspan(place->unit.offset, place->unit.size);
  }

  void prefetch(uint64_t record, size_t leaf, uint64_t unit) const {
    try {
      const auto place = index().unit(record, leaf, unit);
      if (!place || place->unit.size < kLargeUnit) return;
      const uint64_t data = index().offset(record) + kRecordHeaderSize;
      file_->hint(data + place->unit.offset, place->unit.size, ReadHint::will_need);
    } catch (const Error&) {
      // Reading the unit will report it.
    }
  }

  // Throws if the record is damaged, or is not the indexed one.
  void check(uint64_t number) const {
    const uint64_t offset = index_.offset(number);
    const std::span<const std::byte> bytes = framed(number);
    file_->hint(offset, bytes.size(), ReadHint::will_need);
    RecordFrame frame = parse_record_header(bytes, bytes.size());
    const bool is_here = frame.ok() && frame.size() == bytes.size();
    if (is_here && frame.data_fits(bytes)) {
      if (load_little_endian<uint32_t>(frame.footer(bytes).data()) == index_.crc(number)) return;
      throw Error({.kind = ErrorKind::checksum_mismatch,
                   .path = path(),
                   .offset = offset,
                   .reason = "another record than the one in the index of steps",
                   .hint = "the file has changed: open it again, which makes its index again"});
    }
    if (file_->damaged()) throw cut_while_mapped(path(), offset);
    frame.fault = is_here ? FramingFault::data_crc : FramingFault::length_crc;
    throw framing_error(frame, path(), offset, is_here ? bytes : bytes.first(kRecordHeaderSize));
  }

 private:
  std::span<const std::byte> framed(uint64_t number) const {
    return file_->bytes().subspan(index_.offset(number), index_.length(number) + kRecordOverhead);
  }

  std::string remove_hint() const {
    return "remove " + step_index_path(path()) + " (or the one in the cache): it is made again";
  }

  std::shared_ptr<const MappedFile> file_;
  StepIndex index_;
  const size_t leaves_;
  // A bit per record and leaf: whether units at equal distances were checked.
  mutable std::vector<std::atomic<uint64_t>> checked_;
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
  std::vector<std::shared_ptr<const EpisodeFile>> files;
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
          std::make_shared<EpisodeFile>(file_system, slice.path, state->leaves, options));
    }
    state->add(at->second, slice);
  }
  return std::shared_ptr<const EpisodeFiles>(new EpisodeFiles(std::move(state)));
}

std::shared_ptr<const EpisodeFiles> EpisodeFiles::chosen(std::span<const uint64_t> episodes) const {
  auto state = std::make_unique<State>();
  state->leaves = state_->leaves;
  state->files = state_->files;
  for (size_t i = 0; i < episodes.size();) {
    StepPlace first;
    uint64_t count = 0;  // of the episodes that follow each other in one file
    for (; i < episodes.size(); ++i, ++count) {
      if (episodes[i] >= this->episodes()) {
        throw Error({.kind = ErrorKind::invalid_argument,
                     .reason = "there is no episode " + std::to_string(episodes[i]) +
                               ": there are " + std::to_string(this->episodes())});
      }
      const StepPlace place = episode(episodes[i]);
      if (count == 0) first = place;
      if (place.file != first.file || place.record != first.record + count) break;
    }
    state->add(first.file, {.path = {}, .first = first.record, .end = first.record + count});
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

void EpisodeFiles::check(const StepPlace& place) const {
  state_->files[place.file]->check(place.record);
}

std::optional<std::span<const std::byte>> EpisodeFiles::unit(const StepPlace& place, size_t leaf,
                                                             uint64_t unit) const {
  return state_->files[place.file]->unit(place.record, leaf, unit);
}

void EpisodeFiles::prefetch(const StepPlace& place, size_t leaf, uint64_t unit) const {
  state_->files[place.file]->prefetch(place.record, leaf, unit);
}

uint64_t EpisodeFiles::fingerprint() const { return state_->fingerprint; }

std::string EpisodeFiles::first_path() const {
  return state_->files.empty() ? std::string() : state_->files.front()->path();
}

}  // namespace recordpipe::rlds
