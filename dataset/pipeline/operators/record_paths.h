// The list of files that tfrecord_files reads.
#pragma once

#include <string>
#include <vector>

#include "recordpipe/file.h"

namespace recordpipe::internal {

// `paths` with each pattern (glob.h) replaced by the matching files, sorted; a path that exists
// literally is not a pattern. Throws Error{not_found} for a pattern without a match.
std::vector<std::string> matched_record_paths(FileSystem& file_system,
                                              std::vector<std::string> paths);

}  // namespace recordpipe::internal
