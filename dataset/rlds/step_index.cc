#include "recordpipe/rlds/step_index.h"

#include <array>
#include <cstring>
#include <utility>

#include "dataset/pipeline/state/file_fingerprints.h"
#include "dataset/rlds/kept_file.h"
#include "dataset/rlds/step_scan.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/record/record_format.h"

namespace recordpipe::rlds {
namespace {

constexpr std::string_view kMagic = "RPSTEPS1";
constexpr size_t kHeaderSize = 64;
constexpr size_t kRecordEntrySize = 24;
constexpr size_t kLayoutSize = 32;
constexpr size_t kRangeSize = 12;
constexpr size_t kCrcSize = 4;
// Indexes up to this size are copied: Linux allows a process 65,530 mappings, and a data set of
// thousands of shards takes one for each shard already.
constexpr size_t kCopied = 64 * 1024;
// Offsets in the header, and in a record's entry.
constexpr size_t kFileSizeAt = 8;
constexpr size_t kFingerprintAt = 16;
constexpr size_t kLeavesHashAt = 24;
constexpr size_t kRecordsAt = 32;
constexpr size_t kLeavesAt = 40;
constexpr size_t kRangesAt = 48;
constexpr size_t kStepsEndAt = 8;
constexpr size_t kLengthAt = 16;
constexpr size_t kCrcAt = 20;

uint64_t load64(std::span<const std::byte> from, size_t at = 0) {
  return load_little_endian<uint64_t>(from.data() + at);
}
uint32_t load32(std::span<const std::byte> from, size_t at = 0) {
  return load_little_endian<uint32_t>(from.data() + at);
}

// Appends numbers to the content of an index.
class Encoder {
 public:
  template <class T>
  void add(T number) {
    content.resize(content.size() + sizeof(T));
    store_little_endian(number, content.data() + content.size() - sizeof(T));
  }
  std::vector<std::byte> content;
};

uint64_t hash_of(std::span<const StepLeaf> leaves) {
  uint64_t hash = leaves.size();
  for (const StepLeaf& leaf : leaves) {
    for (const char c : leaf.key) hash = derive_key(hash, static_cast<unsigned char>(c));
    hash = derive_key(derive_key(hash, leaf.key.size()), static_cast<uint64_t>(leaf.kind));
    hash = derive_key(derive_key(hash, leaf.values), leaf.is_of_episode ? 1 : 0);
    if (!leaf.is_ragged) continue;
    for (const size_t number : leaf.row_lengths) hash = derive_key(hash, number);
    hash = derive_key(hash, leaf.row_lengths.size() + 1);
  }
  return hash;
}

uint64_t fingerprint_of(const RandomAccessFile& file) {
  return internal::fingerprint_of(file.path(), file).content;
}

}  // namespace

StepIndex StepIndex::scan(const RandomAccessFile& file, std::span<const StepLeaf> leaves,
                          const StepIndexOptions& options) {
  const uint64_t fingerprint = fingerprint_of(file);
  const std::vector<ScannedEpisode> episodes = scan_episodes(file, leaves, options);

  Encoder out;
  for (const char c : kMagic) out.add(static_cast<uint8_t>(c));
  out.add(file.size());
  out.add(fingerprint);
  out.add(hash_of(leaves));
  out.add(uint64_t{episodes.size()});
  out.add(uint64_t{leaves.size()});
  uint64_t ranges = 0;
  for (const ScannedEpisode& episode : episodes) ranges += episode.layout.ranges.size();
  out.add(ranges);
  out.add(uint64_t{0});
  uint64_t steps = 0;
  for (const ScannedEpisode& episode : episodes) {
    const RecordIndexEntry& record = episode.record;
    steps += episode.layout.steps;
    out.add(record.offset);
    out.add(steps);
    out.add(static_cast<uint32_t>(record.length()));
    out.add(episode.crc);
  }
  uint64_t first_range = 0;
  for (const ScannedEpisode& episode : episodes) {
    for (size_t number = 0; number < leaves.size(); ++number) {
      const LeafLayout& leaf = episode.layout.leaves[number];
      const bool listed = leaf.form == LeafLayout::Form::listed;
      out.add(static_cast<uint32_t>(leaf.form));
      out.add(leaf.size);
      out.add(leaf.first + (listed ? first_range : 0));
      out.add(leaf.stride);
      out.add(episode.leaf_crcs[number]);
      out.add(uint32_t{0});
    }
    first_range += episode.layout.ranges.size();
  }
  for (const ScannedEpisode& episode : episodes) {
    for (size_t number = 0; number < episode.range_crcs.size(); ++number) {
      out.add(episode.layout.ranges[number].offset);
      out.add(episode.layout.ranges[number].size);
      out.add(episode.range_crcs[number]);
    }
  }

  StepIndex index;
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(out.content));
  if (!index.open(owner, *owner, leaves, file.size()) || fingerprint_of(file) != fingerprint ||
      !index.has_records_of(file)) {
    throw Error({.kind = ErrorKind::io,
                 .path = file.path(),
                 .reason = "the file has changed while its steps were found"});
  }
  return index;
}

std::optional<StepIndex> StepIndex::load(FileSystem& file_system, const std::string& path,
                                         const RandomAccessFile& file,
                                         std::span<const StepLeaf> leaves) {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  try {
    if (!regular_file_size(file_system, path)) return std::nullopt;
    std::shared_ptr<const MappedFile> mapped = file_system.map(path);
    bytes = mapped->bytes();
    if (bytes.size() <= kCopied) {
      auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
      bytes = *copy;
      owner = std::move(copy);
    } else {
      owner = std::move(mapped);
    }
  } catch (const Error&) {
    return std::nullopt;  // a new one is made
  }
  if (bytes.size() < kHeaderSize + kCrcSize) return std::nullopt;
  const auto content = bytes.first(bytes.size() - kCrcSize);
  StepIndex index;
  if (load32(bytes, content.size()) != mask_crc(crc32c(content)) ||
      !index.open(owner, content, leaves, file.size()) ||
      load64(content, kLeavesHashAt) != hash_of(leaves) ||
      load64(content, kFingerprintAt) != fingerprint_of(file) || !index.has_records_of(file)) {
    return std::nullopt;
  }
  return index;
}

void StepIndex::save(FileSystem& file_system, const std::string& path) const {
  AtomicFile file(file_system, path, Durability::cached);
  file.write(content_);
  std::array<std::byte, kCrcSize> crc;
  store_little_endian(mask_crc(crc32c(content_)), crc.data());
  file.write(crc);
  file.commit();
}

bool StepIndex::open(std::shared_ptr<const void> owner, std::span<const std::byte> content,
                     std::span<const StepLeaf> step_leaves, uint64_t file_size) {
  const size_t leaves = step_leaves.size();
  if (content.size() < kHeaderSize ||
      std::memcmp(content.data(), kMagic.data(), kMagic.size()) != 0 ||
      load64(content, kFileSizeAt) != file_size || load64(content, kLeavesAt) != leaves) {
    return false;
  }
  const uint64_t records = load64(content, kRecordsAt);
  const uint64_t ranges = load64(content, kRangesAt);
  // Each of them takes at least 8 bytes of the content, so that the sizes don't overflow.
  if (records > content.size() / kRecordEntrySize || ranges > content.size() / kRangeSize ||
      (leaves > 0 && records > content.size() / kLayoutSize / leaves)) {
    return false;
  }
  const uint64_t records_size = records * kRecordEntrySize;
  const uint64_t layouts_size = records * leaves * kLayoutSize;
  if (kHeaderSize + records_size + layouts_size + ranges * kRangeSize != content.size()) {
    return false;
  }
  owner_ = std::move(owner);
  content_ = content;
  record_entries_ = content.subspan(kHeaderSize, records_size);
  layouts_ = content.subspan(kHeaderSize + records_size, layouts_size);
  ranges_ = content.subspan(kHeaderSize + records_size + layouts_size);
  records_ = records;
  leaves_ = leaves;
  step_leaves_.assign(step_leaves.begin(), step_leaves.end());

  uint64_t end = 0;
  uint64_t steps = 0;
  for (uint64_t i = 0; i < records; ++i) {
    const uint64_t steps_end = load64(record_at(i), kStepsEndAt);
    // Each step has at least a byte in its record; more steps could not be counted.
    if (offset(i) != end || steps_end < steps || steps_end - steps > length(i) ||
        length(i) > file_size) {
      return false;
    }
    end += length(i) + kRecordOverhead;
    steps = steps_end;
  }
  return end == file_size;
}

// The fingerprint covers only parts of a large file.
bool StepIndex::has_records_of(const RandomAccessFile& file) const {
  for (uint64_t i = 0; i < records_; ++i) {
    const uint64_t footer = offset(i) + kRecordHeaderSize + length(i);
    if (load32(file.read(footer, kRecordFooterSize, {})) != crc(i)) return false;
  }
  return true;
}

std::span<const std::byte> StepIndex::record_at(uint64_t record) const {
  return record_entries_.subspan(record * kRecordEntrySize, kRecordEntrySize);
}

uint64_t StepIndex::first_step(uint64_t record) const {
  return record == 0 ? 0 : load64(record_at(record - 1), kStepsEndAt);
}

uint64_t StepIndex::offset(uint64_t record) const { return load64(record_at(record)); }
uint32_t StepIndex::length(uint64_t record) const { return load32(record_at(record), kLengthAt); }
uint32_t StepIndex::crc(uint64_t record) const { return load32(record_at(record), kCrcAt); }

uint64_t StepIndex::leaf_units(uint64_t record, size_t leaf) const {
  return units_of(step_leaves_[leaf], first_step(record + 1) - first_step(record));
}

uint64_t StepIndex::record_of(uint64_t step) const {
  // The first record whose steps end after `step`.
  uint64_t low = 0;
  uint64_t high = records_;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (load64(record_at(middle), kStepsEndAt) > step) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::optional<UnitPlace> StepIndex::unit(uint64_t record, size_t leaf, uint64_t unit) const {
  const auto at = layouts_.subspan((record * leaves_ + leaf) * kLayoutSize, kLayoutSize);
  const LeafLayout layout{.form = static_cast<LeafLayout::Form>(load32(at)),
                          .size = load32(at, 4),
                          .first = load64(at, 8),
                          .stride = load64(at, 16)};
  if (layout.form == LeafLayout::Form::parsed) return std::nullopt;
  const uint64_t size = length(record);
  if (layout.form == LeafLayout::Form::listed) {
    const uint64_t ranges = ranges_.size() / kRangeSize;
    if (layout.first < ranges && unit < ranges - layout.first) {
      const auto range = ranges_.subspan((layout.first + unit) * kRangeSize, kRangeSize);
      const ByteRange listed{load32(range), load32(range, 4)};
      if (uint64_t{listed.offset} + listed.size <= size) {
        return UnitPlace{listed, listed, load32(range, 8)};
      }
    }
  } else if (const auto found = unit_at(layout, {}, unit, size)) {
    const uint64_t units = leaf_units(record, leaf);
    const auto last = units > unit ? unit_at(layout, {}, units - 1, size) : std::nullopt;
    if (last && last->offset >= layout.first) {
      const auto first = static_cast<uint32_t>(layout.first);
      return UnitPlace{*found, {first, last->offset + last->size - first}, load32(at, 24), true};
    }
  }
  throw Error({.kind = ErrorKind::corrupted,
               .reason = "the index of steps has a place outside of the record",
               .hint = "remove the index: it is made again"});
}

uint64_t StepIndex::fingerprint() const {
  uint64_t hash = derive_key(load64(content_, kFingerprintAt), load64(content_, kLeavesHashAt));
  for (uint64_t i = 0; i < records_; ++i) hash = derive_key(hash, crc(i));
  return hash;
}

std::string step_index_path(const std::string& path) { return path + ".steps"; }

StepIndex find_step_index(FileSystem& file_system, const RandomAccessFile& file,
                          std::span<const StepLeaf> leaves, const StepIndexOptions& options) {
  const std::string path = step_index_path(file.path());
  for (const std::string& place : kept_paths(path)) {
    if (auto index = StepIndex::load(file_system, place, file, leaves)) {
      if (options.advance) options.advance(file.size());
      return *std::move(index);
    }
  }
  StepIndex index = StepIndex::scan(file, leaves, options);
  keep_file(
      file_system, path, [&](const std::string& place) { index.save(file_system, place); },
      options.kept);
  return index;
}

}  // namespace recordpipe::rlds
