#include "dataset/rlds/step_scan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/for_each.h"
#include "dataset/record/record_framing.h"
#include "dataset/record/record_header_reader.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/checksum/crc32c.h"

namespace recordpipe::rlds {
namespace {

// Shorter ranges are read twice: that takes less time than to derive their CRC.
constexpr size_t kDerived = 2048;

// CRCs of ranges of some data and of all of it, from one pass over the data: an episode is longer
// than a processor's caches.
class RangeCrcs {
 public:
  // `ranges`: all that of() will be called with, or more.
  RangeCrcs(std::span<const std::byte> data, std::span<const ByteRange> ranges) : data_(data) {
    std::vector<size_t> ends = {data.size()};
    for (const ByteRange& range : ranges) {
      if (range.size < kDerived) continue;
      ends.push_back(range.offset);
      ends.push_back(size_t{range.offset} + range.size);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    prefixes_.reserve(ends.size());
    Prefix last;
    for (const size_t end : ends) {
      last = {end, crc32c_extend(last.crc, data.subspan(last.size, end - last.size))};
      prefixes_.push_back(last);
    }
  }

  uint32_t of(const ByteRange& range) const {
    if (range.size < kDerived) return crc32c(data_.subspan(range.offset, range.size));
    const uint32_t before = prefix(range.offset);
    return crc32c_concat(before, prefix(size_t{range.offset} + range.size), range.size);
  }

  uint32_t of_all() const { return prefixes_.back().crc; }

 private:
  struct Prefix {
    size_t size = 0;
    uint32_t crc = 0;
  };

  uint32_t prefix(size_t size) const {
    return std::lower_bound(prefixes_.begin(), prefixes_.end(), size,
                            [](const Prefix& prefix, size_t value) { return prefix.size < value; })
        ->crc;
  }

  std::span<const std::byte> data_;
  std::vector<Prefix> prefixes_;  // sizes ascend
};

// The bytes of all units of each strided leaf; other leaves have none.
std::vector<ByteRange> strided_ranges(const EpisodeLayout& layout,
                                      std::span<const StepLeaf> leaves) {
  std::vector<ByteRange> ranges(leaves.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    const LeafLayout& leaf = layout.leaves[i];
    const uint64_t units = units_of(leaves[i], layout.steps);
    if (leaf.form != LeafLayout::Form::strided || units == 0) continue;
    ranges[i] = {static_cast<uint32_t>(leaf.first),
                 static_cast<uint32_t>((units - 1) * leaf.stride + leaf.size)};
  }
  return ranges;
}

// Finds the steps, and adds the CRCs of their bytes. Returns the CRC of all bytes.
uint32_t lay_out(ScannedEpisode& episode, std::span<const std::byte> data,
                 std::span<const StepLeaf> leaves) {
  episode.layout = lay_out_episode(data, leaves);
  const std::vector<ByteRange> strided = strided_ranges(episode.layout, leaves);
  std::vector<ByteRange> all = episode.layout.ranges;
  all.insert(all.end(), strided.begin(), strided.end());
  const RangeCrcs crcs(data, all);
  for (const ByteRange& range : strided) episode.leaf_crcs.push_back(crcs.of(range));
  for (const ByteRange& range : episode.layout.ranges) {
    episode.range_crcs.push_back(crcs.of(range));
  }
  return crcs.of_all();
}

void scan(ScannedEpisode& episode, const RandomAccessFile& file, std::span<const StepLeaf> leaves) {
  const RecordIndexEntry& entry = episode.record;
  file.hint(entry.offset, entry.size, ReadHint::will_need);
  const auto record = file.read(entry.offset, entry.size, {});
  RecordFrame frame = parse_record_header(record, record.size());
  if (!frame.ok()) throw framing_error(frame, file.path(), entry.offset, record);
  const auto data = frame.data(record);
  episode.crc = load_little_endian<uint32_t>(frame.footer(record).data());
  uint32_t crc = 0;
  std::optional<Error> refused;
  try {
    crc = lay_out(episode, data, leaves);
  } catch (const Error& error) {
    crc = crc32c(data);
    refused = error;
  }
  if (mask_crc(crc) != episode.crc) {
    if (file.damaged()) throw cut_while_mapped(file.path(), entry.offset);
    frame.fault = FramingFault::data_crc;
    throw framing_error(frame, file.path(), entry.offset, record);
  }
  if (refused) {
    Error::Parts parts = refused->parts();
    parts.path = file.path();
    parts.offset = entry.offset;
    throw Error(std::move(parts));
  }
  file.hint(entry.offset, entry.size, ReadHint::done);
}

}  // namespace

std::vector<ScannedEpisode> scan_episodes(const RandomAccessFile& file,
                                          std::span<const StepLeaf> leaves,
                                          const StepIndexOptions& options) {
  std::vector<ScannedEpisode> episodes;
  RecordHeaderReader headers(file);
  while (const auto entry = headers.read()) {
    episodes.emplace_back();
    episodes.back().record = *entry;
  }
  parallel::for_each(episodes.size(), thread_count(options.threads), [&](uint64_t i) {
    throw_if_stopped(options.stop, file.path());
    scan(episodes[i], file, leaves);
    if (options.advance) options.advance(episodes[i].record.size);
  });
  return episodes;
}

}  // namespace recordpipe::rlds
