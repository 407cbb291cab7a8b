// Lets all readers of this process decompress bzip2, xz and lz4, too.
#pragma once

namespace recordpipe {

// From now on, inflate() (compression.h) decompresses bzip2, xz and lz4 through libarchive, also
// for all that reads TFRecord files. Without this call, a file compressed like this is an error
// that names the format. To be called once, before the first file is read. No-op in a build without
// libarchive. Needs recordpipe::decompression.
void read_more_compressions();

}  // namespace recordpipe
