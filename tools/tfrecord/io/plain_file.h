// Plain TFRecord files that can be read at any place or mapped, and the indexes beside them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

// A regular file, or a URL whose server sends parts. Null for what can only be read as a stream.
std::unique_ptr<RandomAccessFile> open_random_input(FileSystem& files, const std::string& path);

// Whether it is a plain file on this machine.
bool can_be_mapped(FileSystem& files, const std::string& path, const RecordReadOptions& reading);

// How it is compressed, by its first bytes.
Compression compression_of(const RandomAccessFile& file, const RecordReadOptions& reading);

// Whether a regular file PATH.idx is there and fits `file`, as far as a few headers tell.
bool index_fits(FileSystem& files, const std::string& path, const RandomAccessFile& file);

}  // namespace recordpipe
