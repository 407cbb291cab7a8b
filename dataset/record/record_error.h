// What is thrown for a damaged TFRecord file, the same for streams and mapped files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/error.h"
#include "recordpipe/record_format.h"

namespace recordpipe {

// "inside the header: truncated record at N"; `where` is "header", "data" or "data CRC".
Error truncated_record(const std::string& path, uint64_t offset, std::string_view where);

// How many bytes tell what a file that is no TFRecord file is instead.
inline constexpr size_t kBytesForHint = 64;

// A header whose CRC doesn't fit. `following` is what is there from the header on: it, and where
// there are that many, kBytesForHint bytes, for a hint.
Error corrupted_length(const std::string& path, uint64_t offset,
                       std::span<const std::byte> following);

// A file's size has 63 bits: what a header can't mean, whether its CRC fits or not.
inline bool is_impossible_length(uint64_t length) { return length > INT64_MAX; }
Error impossible_length(const std::string& path, uint64_t offset, uint64_t length);

// A length that fits its CRC, and is more than `max_record_size`.
Error too_long_record(const std::string& path, uint64_t offset, uint64_t length,
                      uint64_t max_record_size);

// Data whose CRC, unmasked, is `crc`, which isn't the one stored in `footer`.
Error corrupted_data(const std::string& path, uint64_t offset, uint32_t crc,
                     std::span<const std::byte, kRecordFooterSize> footer);

// An index says that a record of `size` bytes, framing included, is at `offset`, and none is.
Error not_as_indexed(const std::string& path, uint64_t offset, uint64_t size);

// A file that was whole when it was mapped and isn't any more.
Error cut_while_mapped(const std::string& path, uint64_t offset);

}  // namespace recordpipe
