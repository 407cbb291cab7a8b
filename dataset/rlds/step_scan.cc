#include "dataset/rlds/step_scan.h"

#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/record/record_framing.h"
#include "dataset/record/record_header_reader.h"
#include "dataset/rlds/parallel.h"
#include "recordpipe/crc32c.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/endian.h"
#include "recordpipe/stop.h"

namespace recordpipe::rlds {
namespace {

void lay_out(ScannedEpisode& episode, std::span<const std::byte> data,
             std::span<const StepLeaf> leaves) {
  episode.layout = lay_out_episode(data, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const LeafLayout& leaf = episode.layout.leaves[i];
    const uint64_t units = units_of(leaves[i], episode.layout.steps);
    const bool is_strided = leaf.form == LeafLayout::Form::strided && units > 0;
    episode.leaf_crcs.push_back(
        is_strided ? crc32c(data.subspan(leaf.first, (units - 1) * leaf.stride + leaf.size)) : 0);
  }
  for (const ByteRange& range : episode.layout.ranges) {
    episode.range_crcs.push_back(crc32c(data.subspan(range.offset, range.size)));
  }
}

void scan(ScannedEpisode& episode, const RandomAccessFile& file, std::span<const StepLeaf> leaves) {
  const RecordIndexEntry& entry = episode.record;
  file.hint(entry.offset, entry.size, ReadHint::will_need);
  const auto record = file.read(entry.offset, entry.size, {});
  RecordFrame frame = parse_record_header(record, record.size());
  if (!frame.data_fits(record)) {
    if (file.damaged()) throw cut_while_mapped(file.path(), entry.offset);
    frame.fault = FramingFault::data_crc;
    throw framing_error(frame, file.path(), entry.offset, record);
  }
  episode.crc = load_little_endian<uint32_t>(frame.footer(record).data());
  try {
    lay_out(episode, frame.data(record), leaves);
  } catch (const Error& error) {
    Error::Parts parts = error.parts();
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
  for_each_in_parallel(episodes.size(), thread_count(options.threads), [&](uint64_t i) {
    throw_if_stopped(options.stop, file.path());
    scan(episodes[i], file, leaves);
    if (options.advance) options.advance(episodes[i].record.size);
  });
  return episodes;
}

}  // namespace recordpipe::rlds
