// Telling compressed streams apart; inflate.cc and deflate.cc read and write them.
#include "dataset/io/compression.h"

namespace recordpipe {

std::string_view to_string(Compression compression) {
  switch (compression) {
    case Compression::none:
      return "none";
    case Compression::gzip:
      return "gzip";
    case Compression::zlib:
      return "zlib";
  }
  return "unknown";
}

Compression sniff_compression(std::span<const std::byte> head) {
  if (head.size() < 2) return Compression::none;
  const auto first = std::to_integer<unsigned>(head[0]);
  const auto second = std::to_integer<unsigned>(head[1]);
  if (first == 0x1f && second == 0x8b) return Compression::gzip;
  // CMF and FLG of RFC 1950: CM 8, CINFO at most 7, no preset dictionary, FCHECK.
  const bool is_zlib = (first & 0x0f) == 8 && (first >> 4) <= 7 && (second & 0x20) == 0 &&
                       (first << 8 | second) % 31 == 0;
  return is_zlib ? Compression::zlib : Compression::none;
}

}  // namespace recordpipe
