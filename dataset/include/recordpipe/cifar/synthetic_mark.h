// The note beside TFRecord files that were drawn by program, DATA_DIR/synthetic.txt: who prints
// figures reached on them says so.
#pragma once

#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

bool is_marked_synthetic(FileSystem& file_system, const std::string& data_dir);
void mark_synthetic(FileSystem& file_system, const std::string& data_dir);
void unmark_synthetic(FileSystem& file_system, const std::string& data_dir);

}  // namespace recordpipe
