// The note DATA_DIR/source.txt, which names the archive that the TFRecord files were made from.
// Without a note, the source is unknown.
#pragma once

#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

// Writes the note, atomically. `sha256` may be empty.
void note_source(FileSystem& file_system, const std::string& data_dir, const std::string& archive,
                 const std::string& sha256);

// "ARCHIVE" or "ARCHIVE (SHA-256 ...)" as one printable line; empty if there is no note.
std::string noted_source(FileSystem& file_system, const std::string& data_dir);

void remove_source_note(FileSystem& file_system, const std::string& data_dir);

}  // namespace recordpipe
