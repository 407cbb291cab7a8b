#include "recordpipe/stream_compression.h"

#include <array>
#include <cstdint>
#include <utility>

#include "recordpipe/record_format.h"

namespace recordpipe {
namespace {

// Whether a header whose CRC isn't checked is one all the same: its length is below 4 GiB. That
// puts zeros in bytes 4 to 7, where zlib streams have the middle of a block's header and zstd
// frames the end of their own and the start of a block's: no compressor's is all zeros. gzip has
// its time there, which often is zero, and so stays gzip where its third byte, the method, fits
// too.
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
  // Nothing is looked at that need not be: a live source may have nothing to give yet.
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
