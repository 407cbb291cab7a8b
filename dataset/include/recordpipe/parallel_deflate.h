// Compressing one stream on several threads.
//
// What is written is cut into blocks of 512 KiB of content, and each is compressed by itself: into
// a gzip member (RFC 1952, 2.2), a zstd frame (RFC 8878, 3.1), or a run of deflate blocks in a zlib
// stream. The pieces stand one after another and are one valid stream for every reader: gzip(1),
// TensorFlow, inflate() of compression.h. A block knows nothing of what came before it, which costs
// about one percent of the compression.
#pragma once

#include <cstddef>
#include <memory>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"

namespace recordpipe {

// Of the uncompressed content.
inline constexpr size_t kDeflateBlockSize = size_t{512} << 10;

struct ParallelDeflateOptions {
  Compression format = Compression::gzip;  // not none
  int level = 6;                           // 0 (stored) to 9; zstd: 1 to 22
  // gzip by ISA-L, whatever `level` says: at least three times as fast as level 1, files of about
  // the same size. Which bytes it gives may differ from one processor to another. Where the library
  // was built without ISA-L, and for other formats: the same as level 1.
  bool fast = false;
  // 0: available_cpus(). 16 at most; for zstd's levels above 9, two at most, for each
  // takes some 12 MiB.
  size_t threads = 0;
};

// A sink that compresses into `sink` (not owned), in the order of the content. With one thread all
// is done by the caller's; with more, the caller's thread waits and writes. The bytes are the same
// for any number of threads; nothing at all is one empty piece. Memory: about 1 MiB for each block
// that is on its way, of which there are two for each thread.
//
// A write may throw what writing an earlier block threw; nothing should be written afterwards.
// close() writes the rest and the trailer, and leaves `sink` open.
std::unique_ptr<ByteSink> deflate_in_parallel(ByteSink& sink,
                                              const ParallelDeflateOptions& options);

}  // namespace recordpipe
