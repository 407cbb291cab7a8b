// The files of a data set that TensorFlow Datasets wrote: dataset_info.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe::tfds {

struct Split {
  std::string name;  // "train"
  // The number of Examples of each file, and the paths of the files, in the same order.
  std::vector<uint64_t> shard_lengths = {};
  std::vector<std::string> files = {};
  uint64_t bytes = 0;  // of the Examples, without framing; 0: unknown

  uint64_t size() const;  // the number of Examples
};

struct Info {
  std::string folder;
  std::string name;     // "robot_a"
  std::string config;   // "" if there is none
  std::string version;  // "1.0.0"
  std::string description;
  std::vector<Split> splits;

  // Null if there is none.
  const Split* find(std::string_view split) const;
};

// Returns the folder of a data set: `folder` itself if it has a dataset_info.json, or else its only
// folder that has one (NAME/[CONFIG/]VERSION, up to two levels below). Throws Error{not_found} if
// there is none, and Error{invalid_argument}, which lists them, if there are several.
std::string find_folder(const std::string& folder, FileSystem& file_system = posix_file_system());

// Reads FOLDER/dataset_info.json. The files are not opened. Throws Error, with the file's path:
//   not_found       there is no such file
//   corrupted       not JSON, or not such a message; negative lengths; a file name outside of the
//                   folder
//   unsupported     another format than tfrecord; splits without the lengths of their shards
//   limit_exceeded  more than 64 MiB, or more than 1,000,000 files
Info read_info(const std::string& folder, FileSystem& file_system = posix_file_system());

}  // namespace recordpipe::tfds
