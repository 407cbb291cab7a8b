// One block of a stream compressed by itself: the pieces that parallel_deflate.h puts together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recordpipe/parallel_deflate.h"

namespace recordpipe {

struct DeflatedPiece {
  std::string bytes = {};
  uint32_t adler = 1;  // zlib: the Adler-32 of the content
};

// gzip: a member; zstd: a frame; zlib: deflate blocks that end on a byte, none of them the last.
DeflatedPiece deflate_block(std::span<const std::byte> content,
                            const ParallelDeflateOptions& options);

// What stands before the first and behind the last piece of a zlib stream (RFC 1950).
std::string zlib_stream_header(int level);
std::string zlib_stream_end(uint32_t adler);
// The Adler-32 of content behind another, of which `size` bytes have `second`.
uint32_t combined_adler(uint32_t first, uint32_t second, size_t size);

// Throws Error{invalid_argument} where the format has no such level.
void require_deflate_level(Compression format, int level);

}  // namespace recordpipe
