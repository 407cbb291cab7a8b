// Compresses single blocks of a stream independently, for parallel_deflate.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "recordpipe/io/parallel_deflate.h"

namespace recordpipe {

struct DeflatedPiece {
  std::string bytes = {};
  uint32_t adler = 1;  // zlib: the Adler-32 of the content
};

// Compresses `content` into a gzip member, a zstd frame or, for zlib, deflate blocks that end on a
// byte boundary, none of them final.
DeflatedPiece deflate_block(std::span<const std::byte> content,
                            const ParallelDeflateOptions& options);

// Compresses `content` (less than 1 GiB) into one gzip member with ISA-L, many times faster than
// zlib. Returns nullopt if recordpipe was built without ISA-L.
std::optional<std::string> isal_gzip_member(std::span<const std::byte> content);

// The bytes before the first and after the last piece of a zlib stream (RFC 1950).
std::string zlib_stream_header(int level);
std::string zlib_stream_end(uint32_t adler);
// Returns the Adler-32 of two concatenated parts from their checksums; the second part has `size`
// bytes.
uint32_t combined_adler(uint32_t first, uint32_t second, size_t size);

// Throws Error{invalid_argument} if the format has no such level.
void require_deflate_level(Compression format, int level);

}  // namespace recordpipe
