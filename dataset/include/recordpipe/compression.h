// gzip (RFC 1952), zlib (RFC 1950) and zstd (RFC 8878) streams, read and written.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "recordpipe/file.h"

namespace recordpipe {

enum class Compression { none, gzip, zlib, zstd };

// "none", "gzip", "zlib", "zstd"
std::string_view to_string(Compression compression);

// What the first bytes of a stream look like: 1f 8b is gzip, a valid zlib header (CM 8, window at
// most 32 KiB, FCHECK right) is zlib, 28 b5 2f fd is zstd (and 50 to 5f, 2a 4d 18: a frame that its
// readers skip), anything else none. Two bytes decide, or four.
Compression sniff_compression(std::span<const std::byte> head);

// The inflated content of `compressed`. gzip: concatenated members are one stream, as in gzip(1),
// and every member's CRC-32 and length are checked; zlib: its Adler-32; zstd: concatenated frames
// are one stream, and a frame's checksum is checked where it has one. A stream that ends before
// its trailer is Error{truncated}, damage is Error{corrupted}, anything but zeros (padding) after
// the last trailer is Error{corrupted}; offsets are in the compressed file. Memory is bounded by
// two fixed buffers (256 KiB in) and for zstd by the window that a frame asks for: 8 MiB up to
// level 19, 128 MiB at most, Error{limit_exceeded} beyond. A zstd frame that names a dictionary is
// Error{unsupported}. What comes out is the caller's to bound.
//
// A gzip member and a zstd frame stand by themselves. With `read_on_after_damage` the read() that
// comes after Error{corrupted} or Error{truncated} gives the content of the next one that is found:
// it is looked for from up to 256 KiB before the place of the damage, for what is wrong may be
// taken for content for a while, up into the next one. Where such bytes came as content as they
// are, as those of a stored block do, they don't come again: the rest of that member is lost. What
// is found may be a chance hit, whose content is garbage, up to an error of its own. It ends, and
// read() returns 0, where nothing is found behind an error, and behind one of `compressed` itself.
// The time stays linear in the size of the file and of the content.
struct InflateOptions {
  bool read_on_after_damage = false;
};
std::unique_ptr<ByteSource> inflate(std::unique_ptr<ByteSource> compressed, Compression format,
                                    const InflateOptions& options = {});

struct DeflateOptions {
  Compression format = Compression::gzip;
  int level = 6;  // 0 (stored) to 9; zstd: 1 to 22
};

// A sink that compresses into `sink` (not owned). close() writes the trailer; it doesn't close
// `sink`. The gzip header holds no time and no name: the same input gives the same bytes. A zstd
// frame ends with a checksum of its content.
std::unique_ptr<ByteSink> deflate(ByteSink& sink, const DeflateOptions& options);

}  // namespace recordpipe
