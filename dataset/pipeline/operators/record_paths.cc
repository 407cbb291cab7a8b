#include "dataset/pipeline/operators/record_paths.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/glob.h"
#include "recordpipe/record_index.h"

namespace recordpipe::internal {

std::vector<std::string> matched_record_paths(FileSystem& file_system,
                                              std::vector<std::string> paths) {
  std::vector<std::string> all;
  for (std::string& path : paths) {
    if (!has_glob_characters(path) || file_system.status(path)) {
      all.push_back(std::move(path));
      continue;
    }
    std::vector<std::string> found = glob_record_files(file_system, path);
    if (found.empty()) {
      throw Error({.kind = ErrorKind::not_found,
                   .path = path,
                   .reason = "tfrecord_files: no file has this name or matches this pattern"});
    }
    std::ranges::move(found, std::back_inserter(all));
  }
  return all;
}

}  // namespace recordpipe::internal
