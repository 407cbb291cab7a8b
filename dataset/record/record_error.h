// The errors for damaged TFRecord files, common to streams and mapped files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/error.h"
#include "recordpipe/record_format.h"

namespace recordpipe {

// "the file ends inside the header: truncated record at N"; `where`: "header", "data" or "data
// CRC".
Error truncated_record(const std::string& path, uint64_t offset, std::string_view where);

// The number of bytes to recognise the format of a file that is no TFRecord file.
inline constexpr size_t kBytesForHint = 64;

// A header whose CRC does not match. `following`: the bytes from the header on, kBytesForHint if
// there are so many, for the hint.
Error corrupted_length(const std::string& path, uint64_t offset,
                       std::span<const std::byte> following);

// File sizes have 63 bits: a larger length is impossible, even with a correct CRC.
inline bool is_impossible_length(uint64_t length) { return length > INT64_MAX; }
Error impossible_length(const std::string& path, uint64_t offset, uint64_t length);

// A length with a correct CRC that exceeds `max_record_size`.
Error too_long_record(const std::string& path, uint64_t offset, uint64_t length,
                      uint64_t max_record_size);

// Data whose (unmasked) CRC `crc` does not match the CRC stored in `footer`.
Error corrupted_data(const std::string& path, uint64_t offset, uint32_t crc,
                     std::span<const std::byte, kRecordFooterSize> footer);

// The file has no record of `size` bytes (with framing) at `offset`, unlike its index.
Error not_as_indexed(const std::string& path, uint64_t offset, uint64_t size);

// A file that was truncated, or became unreadable, after it was mapped.
Error cut_while_mapped(const std::string& path, uint64_t offset);

}  // namespace recordpipe
