#include "recordpipe/stream_compression.h"

#include <array>
#include <cstdint>
#include <utility>

#include "recordpipe/record_format.h"

namespace recordpipe {
namespace {

// Whether `header` looks like a record header, without checking its CRC: the length is below 4 GiB,
// that is, bytes 4 to 7 are zeros. At this position, zlib streams have the middle of a block
// header, and zstd frames have the end of the frame header and the start of a block header; no
// compressor writes four zeros there. gzip has the modification time there, which is often zero:
// bytes that match gzip's magic number and method count as gzip.
bool looks_like_length(std::span<const std::byte, kRecordHeaderSize> header) {
  const bool is_gzip =
      header[0] == std::byte{0x1f} && header[1] == std::byte{0x8b} && header[2] == std::byte{0x08};
  return !is_gzip && decode_record_length(header) <= UINT32_MAX;
}

}  // namespace

Compression detect_record_compression(std::span<const std::byte> head,
                                      const RecordReadOptions& options) {
  if (options.compression) return *options.compression;
  if (head.size() >= kRecordHeaderSize) {
    const auto header = head.first<kRecordHeaderSize>();
    if (decode_record_header(header)) return Compression::none;
    if (options.crc == CrcCheck::never && looks_like_length(header)) return Compression::none;
  }
  return sniff_compression(head);
}

DetectedSource detect_source(std::unique_ptr<ByteSource> raw, const RecordReadOptions& options,
                             const InflateOptions& inflating) {
  const auto inflated = [&](std::unique_ptr<ByteSource> source, Compression compression) {
    const bool reads_on = inflating.read_on_after_damage && compression != Compression::none;
    return DetectedSource{inflate(std::move(source), compression, inflating), compression,
                          reads_on};
  };
  // The source is read only if necessary: a live source may have no bytes yet.
  if (options.compression) return inflated(std::move(raw), *options.compression);
  PeekedSource peeked = peek(std::move(raw), kRecordHeaderSize);
  return inflated(std::move(peeked.source), detect_record_compression(peeked.head, options));
}

Compression detect_compression(FileSystem& file_system, const std::string& path,
                               const RecordReadOptions& options) {
  std::array<std::byte, kRecordHeaderSize> head{};
  const size_t size = read_fully(*file_system.open_source(path), head);
  return detect_record_compression(std::span(head).first(size), options);
}

}  // namespace recordpipe
