// Episode statistics that are kept: statistics-HASH.json in the folder of the data, or in the
// cache.
#pragma once

#include <cstdint>
#include <optional>

#include "recordpipe/io/file.h"
#include "recordpipe/rlds/episode_statistics.h"
#include "recordpipe/rlds/steps.h"

namespace recordpipe::rlds {

// An episode with so many values that are left out.
LeftOutValues left_out_of(const EpisodeFiles& files, uint64_t episode, uint64_t values);

// Nothing if there is no such file, or if it is damaged or is about other data. `hash`: of the
// data and options that the statistics depend on.
std::optional<EpisodeStatistics> load_statistics(FileSystem& file_system, const StepReader& reader,
                                                 uint64_t hash);
// Keeps nothing if no folder can be written. `kept`: see EpisodeStatisticsOptions.
void keep_statistics(FileSystem& file_system, const StepReader& reader, uint64_t hash,
                     const EpisodeStatistics& statistics,
                     const std::function<void(const std::string& path)>& kept);

}  // namespace recordpipe::rlds
