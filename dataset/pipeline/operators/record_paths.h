// Expands the paths and patterns of tfrecord_files into the list of files to read.
#pragma once

#include <string>
#include <vector>

#include "recordpipe/file.h"

namespace recordpipe::internal {

// Returns `paths` with each pattern (glob.h) replaced by the matching files, sorted, without their
// indexes. A path that exists literally is not treated as a pattern. Throws Error{not_found} for a
// pattern without a match.
std::vector<std::string> matched_record_paths(FileSystem& file_system,
                                              std::vector<std::string> paths);

}  // namespace recordpipe::internal
