// The names of the TFRecord files that a CIFAR archive is made into, and which of them a folder
// holds: SUBSET.tfrecords, or SUBSET-00000-of-0000N.tfrecords and so on.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/file.h"

namespace recordpipe {

inline constexpr std::array<std::string_view, 3> kCifarSplits = {"train", "validation", "eval"};
// All files of all splits are open (locked) until the last one is complete; 3 * 256 is below the
// usual limit of 1024.
inline constexpr size_t kMaxCifarShards = 256;

// "train.tfrecords" for one shard of one, else "train-00002-of-00008.tfrecords".
std::string split_file_name(std::string_view split, size_t shard, size_t shards);

// Whether split_file_name could have made this name.
bool is_split_file_name(std::string_view name);

struct CifarSplitFiles {
  std::vector<std::string> present;  // paths of this number of shards that are there
  std::vector<std::string> missing;  // and that aren't
  std::vector<std::string> others;   // those there are of another number of shards
};

// Looks for the files of all splits in `data_dir`; all are missing where there is no such folder.
CifarSplitFiles find_split_files(FileSystem& file_system, const std::string& data_dir,
                                 size_t shards);

}  // namespace recordpipe
