// Which files tfrecord_files is to read.
#pragma once

#include <string>
#include <vector>

#include "recordpipe/file.h"

namespace recordpipe::internal {

// `paths`, with the files that match in place of each pattern (glob.h), sorted; what is there under
// its very name is no pattern. Throws Error{not_found} for a pattern that nothing matches.
std::vector<std::string> matched_record_paths(FileSystem& file_system,
                                              std::vector<std::string> paths);

}  // namespace recordpipe::internal
