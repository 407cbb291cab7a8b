// Reads and writes gzip (RFC 1952), zlib (RFC 1950) and zstd (RFC 8878) streams; reads others.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "recordpipe/io/file.h"

namespace recordpipe {

// The formats from bzip2 on are only read: those of them that inflate() can't decompress are
// refused with a hint (more_compressions.h). snappy is the framing format.
enum class Compression { none, gzip, zlib, zstd, bzip2, xz, lz4, snappy };

// "none", "gzip", "zlib", "zstd", "bzip2", "xz", "lz4", "snappy"
std::string_view to_string(Compression compression);
// The compression of a name that can be written: none, gzip, zlib or zstd. Else nullopt.
std::optional<Compression> compression_named(std::string_view name);

// Detects the format from the first bytes of a stream: 1f 8b is gzip; a valid zlib header (CM 8,
// window at most 32 KiB, no dictionary, FCHECK correct) is zlib; 28 b5 2f fd is zstd, and so are
// 50 2a 4d 18 to 5f 2a 4d 18 (a skippable frame); "BZh1" to "BZh9" and the first block's mark is
// bzip2, fd "7zXZ" 0 is xz, 04 22 4d 18 is lz4, ff 06 00 00 "sNaPpY" is snappy; anything else is
// none. Four bytes suffice for gzip, zlib and zstd, ten for all.
Compression sniff_compression(std::span<const std::byte> head);

struct InflateOptions {
  // Continue after damage (default: false). gzip members and zstd frames are independent: the
  // read() after Error{corrupted} or Error{truncated} returns the content of the next member or
  // frame. The search for its first bytes begins up to 256 KiB before the detected damage, because
  // a decoder may take damaged bytes for content for a while, including the start of the next
  // member. If the bytes of that start were already returned as content (the content of a stored
  // block), they are not returned again, and the rest of that member is lost. A chance match is
  // possible; its content is garbage that ends in another error. read() returns 0 if no further
  // member is found, and after an error of the compressed source itself. The time is linear in the
  // sizes of the file and its content. No effect for zlib, which has a single stream.
  bool read_on_after_damage = false;
};

// Decompresses `compressed`; for Compression::none, returns `compressed` itself. Concatenated gzip
// members and concatenated zstd frames are one stream. Checks the CRC-32 and length of every gzip
// member, the Adler-32 of zlib, and the checksum of a zstd frame that has one. The caller must
// limit the size of the content. Memory: two fixed buffers (256 KiB for input), and for zstd the
// window that a frame requests (8 MiB up to level 19; limit: 128 MiB).
//
// read() throws, with offsets in the compressed file:
//   truncated       the stream ends before its trailer
//   corrupted       damaged data, or bytes other than zeros (padding) after the last trailer
//   limit_exceeded  a zstd window of more than 128 MiB
//   unsupported     a zstd frame that needs a dictionary
//
// bzip2, xz and lz4 are handed to the function of set_decompressor(); without one, and for snappy
// (detect_source() of stream_compression.h reads it), inflate() itself throws unsupported.
std::unique_ptr<ByteSource> inflate(std::unique_ptr<ByteSource> compressed, Compression format,
                                    const InflateOptions& options = {});

// Sets the function that decompresses bzip2, xz and lz4 in this process, which knows
// InflateOptions' defaults only. read_more_compressions() (more_compressions.h) calls it.
using Decompressor = std::unique_ptr<ByteSource> (*)(std::unique_ptr<ByteSource> compressed,
                                                     Compression format);
void set_decompressor(Decompressor decompressor);

struct DeflateOptions {
  Compression format = Compression::gzip;
  int level = 6;  // gzip, zlib: 0 (stored) to 9; zstd: 1 to 22
};

// Returns a sink that compresses into `sink` (not owned). close() writes the trailer and leaves
// `sink` open. Deterministic: the gzip header contains no time and no name. A zstd frame ends with
// a checksum of its content. Throws Error{invalid_argument} if the format does not have the level.
std::unique_ptr<ByteSink> deflate(ByteSink& sink, const DeflateOptions& options);

}  // namespace recordpipe
