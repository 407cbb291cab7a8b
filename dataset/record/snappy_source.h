// Reads the framing format of Snappy
// (https://github.com/google/snappy/blob/main/framing_format.txt), as python-snappy and snzip write
// it.
#pragma once

#include <memory>

#include "recordpipe/io/file.h"

namespace recordpipe {

// Returns the content of `compressed`. Checks the CRC-32C of every chunk. A chunk has at most
// 64 KiB of content. read() throws, with offsets in the compressed stream: truncated if it ends
// inside a chunk, corrupted for damage, unsupported for a reserved chunk that can't be skipped.
std::unique_ptr<ByteSource> read_snappy(std::unique_ptr<ByteSource> compressed);

}  // namespace recordpipe
