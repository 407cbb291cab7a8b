// What is thrown for a damaged TFRecord file beside the faults of its framing
// (record_framing.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recordpipe/error.h"
#include "recordpipe/record_format.h"

namespace recordpipe {

// Data whose CRC, unmasked, is `crc`, which isn't the one stored in `footer`.
Error corrupted_data(const std::string& path, uint64_t offset, uint32_t crc,
                     std::span<const std::byte, kRecordFooterSize> footer);

// An index says that a record of `size` bytes, framing included, is at `offset`, and none is.
Error not_as_indexed(const std::string& path, uint64_t offset, uint64_t size);

// A file that was whole when it was mapped and isn't any more.
Error cut_while_mapped(const std::string& path, uint64_t offset);

}  // namespace recordpipe
