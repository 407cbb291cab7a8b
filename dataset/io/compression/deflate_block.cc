#include "dataset/io/compression/deflate_block.h"

#include <new>
#include <stdexcept>

#include <zlib.h>

#include "dataset/base/require.h"
#include "dataset/io/compression/zlib_parameters.h"
#include "dataset/io/compression/zstd_sink.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr int kFastestLevel = 1;
// An empty final block of fixed Huffman codes.
constexpr std::string_view kLastBlock{"\x03\x00", 2};

std::string deflate_by_zlib(std::span<const std::byte> content, int level, int window, int flush) {
  z_stream stream = {};
  if (deflateInit2(&stream, level, Z_DEFLATED, window, kZlibMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  struct End {
    z_stream& stream;
    ~End() { deflateEnd(&stream); }
  } const end{stream};
  // deflateBound() is for Z_FINISH; a flush adds an empty stored block.
  constexpr size_t kFlushSize = 16;
  std::string out(deflateBound(&stream, static_cast<uLong>(content.size())) + kFlushSize, '\0');
  // zlib does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::deflate(&stream, flush);
  // A full buffer means that the bound was too small and the block is incomplete.
  if (result != (flush == Z_FINISH ? Z_STREAM_END : Z_OK) || stream.avail_out == 0) {
    throw std::runtime_error("zlib failed");
  }
  out.resize(stream.total_out);
  return out;
}

uint32_t adler_of(std::span<const std::byte> content) {
  return static_cast<uint32_t>(adler32(1, reinterpret_cast<const Bytef*>(content.data()),
                                       static_cast<uInt>(content.size())));
}

}  // namespace

DeflatedPiece deflate_block(std::span<const std::byte> content,
                            const ParallelDeflateOptions& options) {
  const int level = options.fast ? kFastestLevel : options.level;
  switch (options.format) {
    case Compression::zstd:
      return {.bytes = zstd_frame(content, level)};
    case Compression::zlib:
      return {.bytes = deflate_by_zlib(content, level, kRawWindow, Z_SYNC_FLUSH),
              .adler = adler_of(content)};
    default:
      break;
  }
  if (options.fast) {
    if (std::optional<std::string> member = isal_gzip_member(content)) {
      return {.bytes = *std::move(member)};
    }
  }
  return {.bytes = deflate_by_zlib(content, level, kGzipWindow, Z_FINISH)};
}

std::string zlib_stream_header(int level) {
  const int how = level < 2 ? 0 : level < 6 ? 1 : level == 6 ? 2 : 3;  // FLEVEL, as in zlib
  int header = 0x7800 | how << 6;
  header += 31 - header % 31;
  return {static_cast<char>(header >> 8), static_cast<char>(header)};
}

std::string zlib_stream_end(uint32_t adler) {
  std::string end(kLastBlock);
  for (int shift = 24; shift >= 0; shift -= 8) end += static_cast<char>(adler >> shift);
  return end;
}

uint32_t combined_adler(uint32_t first, uint32_t second, size_t size) {
  return static_cast<uint32_t>(adler32_combine(first, second, static_cast<z_off_t>(size)));
}

void require_deflate_level(Compression format, int level) {
  require(format < Compression::bzip2,
          std::string(to_string(format)) + " is only read, not written");
  const bool is_zstd = format == Compression::zstd;
  const int least = is_zstd ? kMinZstdLevel : 0;
  const int most = is_zstd ? kMaxZstdLevel : 9;
  if (level >= least && level <= most) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "compression level " + std::to_string(level) + " is not between " +
                         std::to_string(least) + " and " + std::to_string(most)});
}

}  // namespace recordpipe
