#include "recordpipe/record_format.h"

#include "recordpipe/crc32c.h"
#include "recordpipe/internal/endian.h"

namespace recordpipe {

std::array<std::byte, kRecordHeaderSize> encode_record_header(uint64_t length) {
  std::array<std::byte, kRecordHeaderSize> header{};
  store_little_endian(length, header.data());
  store_little_endian(mask_crc(crc32c(std::span(header).first<8>())), header.data() + 8);
  return header;
}

std::array<std::byte, kRecordFooterSize> encode_record_footer(std::span<const std::byte> data) {
  std::array<std::byte, kRecordFooterSize> footer{};
  store_little_endian(mask_crc(crc32c(data)), footer.data());
  return footer;
}

std::optional<uint64_t> decode_record_header(std::span<const std::byte, kRecordHeaderSize> header) {
  const auto stored = load_little_endian<uint32_t>(header.data() + 8);
  if (stored != mask_crc(crc32c(header.first<8>()))) return std::nullopt;
  return decode_record_length(header);
}

uint64_t decode_record_length(std::span<const std::byte, kRecordHeaderSize> header) {
  return load_little_endian<uint64_t>(header.data());
}

bool record_footer_matches(std::span<const std::byte, kRecordFooterSize> footer,
                           std::span<const std::byte> data) {
  return load_little_endian<uint32_t>(footer.data()) == mask_crc(crc32c(data));
}

}  // namespace recordpipe
