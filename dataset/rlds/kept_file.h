// Files that are made once and kept: beside the data, or in the user's cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe::rlds {

// Where a file can be kept, best first: `path` itself, and a file in
// $XDG_CACHE_HOME/recordpipe/rlds (default: ~/.cache/recordpipe/rlds) whose name is a hash of the
// absolute path and the file's own name. Only the first without XDG_CACHE_HOME and HOME.
std::vector<std::string> kept_paths(const std::string& path);

// Calls save(path) for the first of kept_paths(path) where it works, and then kept(path), unless it
// is null. Nothing is kept if no folder can be written, or if another process is writing the same
// file.
void keep_file(FileSystem& file_system, const std::string& path,
               const std::function<void(const std::string&)>& save,
               const std::function<void(const std::string&)>& kept);

std::string hexadecimal(uint64_t number);  // 16 digits

}  // namespace recordpipe::rlds
