// Compresses one stream with several threads.
//
// The content is split into blocks of 512 KiB. Each block is compressed independently: into a gzip
// member (RFC 1952, 2.2), a zstd frame (RFC 8878, 3.1), or a sequence of deflate blocks of a zlib
// stream. The concatenated results are one valid stream for every reader: gzip(1), TensorFlow,
// inflate() of compression.h. Independent blocks make the output about one percent larger.
#pragma once

#include <cstddef>
#include <memory>

#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// The size of a block of uncompressed content, by default.
inline constexpr size_t kDeflateBlockSize = size_t{512} << 10;

struct ParallelDeflateOptions {
  Compression format = Compression::gzip;  // not none
  int level = 6;                           // gzip, zlib: 0 (stored) to 9; zstd: 1 to 22
  // Compress gzip with ISA-L and ignore `level`: at least three times as fast as level 1, with
  // about the same file size. The output may differ between processors. Without ISA-L, and for the
  // other formats: equivalent to level 1. Default: false.
  bool fast = false;
  // Number of threads, the caller's among them (default 0: available_cpus()). At most 16; at most 2
  // for zstd levels above 9, which take about 12 MiB per thread.
  size_t threads = 0;
  // Of a block of uncompressed content; at least 1. Smaller blocks take less memory, and compress
  // less.
  size_t block_size = kDeflateBlockSize;
};

// Compression for several sinks.
class DeflateThreads;
// `options`: as those of the sinks.
std::shared_ptr<DeflateThreads> shared_deflate_threads(const ParallelDeflateOptions& options);

// Returns a sink that compresses into `sink` (not owned), in the order of the content. The caller's
// thread writes, and compresses while it waits for a block.
// The output is the same for any number of threads. Empty content gives one empty member, frame or
// stream. Memory: about 1 MiB for each block in flight, two blocks per thread; and a block for each
// sink.
//
// By default, a sink has blocks in flight of its own. Sinks that share `threads` have no more
// blocks in flight than one: a call of one of them may write blocks of another, and throw its
// errors. They may be used by one thread at a time.
//
// write() may throw the error of an earlier block; nothing may be written afterwards. close()
// writes the rest and the trailer and leaves `sink` open. Throws Error{invalid_argument} if the
// format does not have the level. The sink is not thread-safe.
std::unique_ptr<ByteSink> deflate_in_parallel(ByteSink& sink, const ParallelDeflateOptions& options,
                                              std::shared_ptr<DeflateThreads> threads = nullptr);

}  // namespace recordpipe
