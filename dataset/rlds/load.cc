#include "recordpipe/rlds/load.h"

#include "recordpipe/tfds/features.h"

namespace recordpipe::rlds {

std::vector<EpisodeSlice> slices_of(const tfds::Info& info,
                                    const std::vector<tfds::ExampleRange>& ranges) {
  std::vector<EpisodeSlice> slices;
  for (const tfds::FileRange& part : tfds::file_ranges(ranges, info)) {
    slices.push_back({part.path, part.begin, part.end, part.records});
  }
  return slices;
}

std::shared_ptr<const StepReader> open_steps(const std::string& folder, std::string_view split,
                                             const StepsOptions& options,
                                             const StepIndexOptions& index, tfds::Rounding rounding,
                                             FileSystem& file_system) {
  const std::string found = tfds::find_folder(folder, file_system);
  const tfds::Info info = tfds::read_info(found, file_system);
  const auto ranges = tfds::parse_split(split, info, rounding);
  tfds::check_files(ranges, info, file_system);
  return std::make_shared<const StepReader>(tfds::read_features(found, file_system),
                                            slices_of(info, ranges), options, index, file_system);
}

}  // namespace recordpipe::rlds
