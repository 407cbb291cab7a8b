// The framing of a TFRecord file; FORMAT.md beside this file describes it in prose.
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

// The length in a header, or nothing where its CRC does not fit. A fitting CRC doesn't make the
// length true: compare it with what is left before using it.
std::optional<uint64_t> decode_record_header(std::span<const std::byte, kRecordHeaderSize> header);

// The same without the check, for files whose writers got the CRCs wrong.
uint64_t decode_record_length(std::span<const std::byte, kRecordHeaderSize> header);

bool record_footer_matches(std::span<const std::byte, kRecordFooterSize> footer,
                           std::span<const std::byte> data);

}  // namespace recordpipe
