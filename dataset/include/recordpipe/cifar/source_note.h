// The note that says which archive TFRecord files were made from, DATA_DIR/source.txt. Where there
// is none, nobody knows.
#pragma once

#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

// `sha256` may be empty.
void note_source(FileSystem& file_system, const std::string& data_dir, const std::string& archive,
                 const std::string& sha256);

// "ARCHIVE" or "ARCHIVE (SHA-256 ...)" as one printable line; empty where there is no note.
std::string noted_source(FileSystem& file_system, const std::string& data_dir);

void remove_source_note(FileSystem& file_system, const std::string& data_dir);

}  // namespace recordpipe
