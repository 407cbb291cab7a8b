// open_steps(): the steps of a folder that TensorFlow Datasets wrote.
//
//     const auto reader =
//         open_steps("data/robot_a/1.0.0", "train[:95%]", {.offsets = {{"action", {0, 1}}}});
//     const auto batches = steps(reader).global_shuffle(7).batch(64, DropRemainder::yes,
//                                                                StepCollator(reader));
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/rlds/steps.h"
#include "recordpipe/tfds/info.h"
#include "recordpipe/tfds/splits.h"

namespace recordpipe::rlds {

// The records of ranges of a data set, in the order of the files.
std::vector<EpisodeSlice> slices_of(const tfds::Info& info,
                                    const std::vector<tfds::ExampleRange>& ranges);

// The steps of the episodes of `split` (splits.h). `folder` as of tfds::find_folder(). Throws the
// errors of find_folder(), read_info(), check_files(), read_features(), parse_split() and
// StepReader; Error{corrupted} for a file of another number of records than dataset_info.json says.
std::shared_ptr<const StepReader> open_steps(const std::string& folder,
                                             std::string_view split = "train",
                                             const StepsOptions& options = {},
                                             const StepIndexOptions& index = {},
                                             tfds::Rounding rounding = tfds::Rounding::closest,
                                             FileSystem& file_system = posix_file_system());

}  // namespace recordpipe::rlds
