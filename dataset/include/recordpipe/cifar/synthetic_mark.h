// The mark DATA_DIR/synthetic.txt of TFRecord files with synthetic images. Programs that print
// accuracies on such files must mention it.
#pragma once

#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

bool is_marked_synthetic(FileSystem& file_system, const std::string& data_dir);
void mark_synthetic(FileSystem& file_system, const std::string& data_dir);
void unmark_synthetic(FileSystem& file_system, const std::string& data_dir);

}  // namespace recordpipe
