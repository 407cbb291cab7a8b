// Encodes and decodes the framing of TFRecord files; dataset/record/FORMAT.md describes the format.
//
//     u64le length | u32le masked crc32c(length) | data | u32le masked crc32c(data)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace recordpipe {

inline constexpr size_t kRecordHeaderSize = 12;
inline constexpr size_t kRecordFooterSize = 4;
inline constexpr size_t kRecordOverhead = kRecordHeaderSize + kRecordFooterSize;

std::array<std::byte, kRecordHeaderSize> encode_record_header(uint64_t length);
std::array<std::byte, kRecordFooterSize> encode_record_footer(std::span<const std::byte> data);

// Returns the data length in a header; nullopt if the CRC does not match. A matching CRC does not
// prove the length: compare the length with the remaining bytes before use.
std::optional<uint64_t> decode_record_header(std::span<const std::byte, kRecordHeaderSize> header);

// The same without the CRC check, for files whose writers computed wrong CRCs.
uint64_t decode_record_length(std::span<const std::byte, kRecordHeaderSize> header);

// Whether `footer` holds the masked CRC of `data`.
bool record_footer_matches(std::span<const std::byte, kRecordFooterSize> footer,
                           std::span<const std::byte> data);

}  // namespace recordpipe
