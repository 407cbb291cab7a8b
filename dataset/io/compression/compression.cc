// Detects compressed streams; inflate.cc reads them, deflate.cc writes them.
#include "recordpipe/io/compression.h"

#include <cstdint>

#include "recordpipe/base/internal/endian.h"

namespace recordpipe {
namespace {

using namespace std::string_view_literals;

// RFC 8878, 3.1.1 and 3.1.2.
bool is_zstd(std::span<const std::byte> head) {
  constexpr uint32_t kFrame = 0xFD2FB528;
  constexpr uint32_t kSkippableFrame = 0x184D2A50;  // to 0x184D2A5F
  if (head.size() < 4) return false;
  const auto magic = load_little_endian<uint32_t>(head.data());
  return magic == kFrame || (magic & ~0xFu) == kSkippableFrame;
}

bool is_bzip2(std::string_view head) {
  return head.starts_with("BZh") && head.size() >= 10 && head[3] >= '1' && head[3] <= '9' &&
         (head.substr(4, 6) == "1AY&SY" || head.substr(4, 6) == "\x17\x72\x45\x38\x50\x90");
}

}  // namespace

std::string_view to_string(Compression compression) {
  switch (compression) {
    case Compression::none:
      return "none";
    case Compression::gzip:
      return "gzip";
    case Compression::zlib:
      return "zlib";
    case Compression::zstd:
      return "zstd";
    case Compression::bzip2:
      return "bzip2";
    case Compression::xz:
      return "xz";
    case Compression::lz4:
      return "lz4";
    case Compression::snappy:
      return "snappy";
  }
  return "unknown";
}

std::optional<Compression> compression_named(std::string_view name) {
  for (const Compression compression :
       {Compression::none, Compression::gzip, Compression::zlib, Compression::zstd}) {
    if (to_string(compression) == name) return compression;
  }
  return std::nullopt;
}

Compression sniff_compression(std::span<const std::byte> head) {
  if (head.size() < 2) return Compression::none;
  const auto first = std::to_integer<unsigned>(head[0]);
  const auto second = std::to_integer<unsigned>(head[1]);
  if (first == 0x1f && second == 0x8b) return Compression::gzip;
  if (is_zstd(head)) return Compression::zstd;
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (is_bzip2(text)) return Compression::bzip2;
  if (text.starts_with("\xfd"
                       "7zXZ\0"sv))
    return Compression::xz;
  if (text.starts_with("\x04\x22\x4d\x18"sv)) return Compression::lz4;
  if (text.starts_with("\xff\x06\0\0sNaPpY"sv)) return Compression::snappy;
  // CMF and FLG of RFC 1950: CM 8, CINFO at most 7, no preset dictionary, FCHECK.
  const bool is_zlib = (first & 0x0f) == 8 && (first >> 4) <= 7 && (second & 0x20) == 0 &&
                       (first << 8 | second) % 31 == 0;
  return is_zlib ? Compression::zlib : Compression::none;
}

}  // namespace recordpipe
