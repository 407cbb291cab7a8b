// The names of the TFRecord files of a CIFAR conversion (SUBSET.tfrecords, or
// SUBSET-00000-of-0000N.tfrecords and so on), and the search for them in a directory.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/file.h"

namespace recordpipe {

inline constexpr std::array<std::string_view, 3> kCifarSplits = {"train", "validation", "eval"};
// All files of all splits are open (locked) until the last one is complete: 3 * 256 is below the
// usual limit of 1024 open files.
inline constexpr size_t kMaxCifarShards = 256;

// "train.tfrecords" for one shard of one, else "train-00002-of-00008.tfrecords".
std::string split_file_name(std::string_view split, size_t shard, size_t shards);

// Whether `name` is a possible result of split_file_name().
bool is_split_file_name(std::string_view name);

struct CifarSplitFiles {
  std::vector<std::string> present;  // existing files with this number of shards
  std::vector<std::string> missing;  // missing files with this number of shards
  std::vector<std::string> others;   // existing files with another number of shards
};

// Searches for the files of all splits in `data_dir`. If the directory does not exist, all files
// are missing.
CifarSplitFiles find_split_files(FileSystem& file_system, const std::string& data_dir,
                                 size_t shards);

}  // namespace recordpipe
