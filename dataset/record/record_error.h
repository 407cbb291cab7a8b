// The errors for damaged TFRecord files beside those of their framing (record_framing.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recordpipe/error.h"
#include "recordpipe/record_format.h"

namespace recordpipe {

// The data's CRC is `crc`; `footer` stores another.
Error corrupted_data(const std::string& path, uint64_t offset, uint32_t crc,
                     std::span<const std::byte, kRecordFooterSize> footer);

// The file has no record of `size` bytes (with framing) at `offset`, unlike its index.
Error not_as_indexed(const std::string& path, uint64_t offset, uint64_t size);

// A file that was truncated, or became unreadable, after it was mapped.
Error cut_while_mapped(const std::string& path, uint64_t offset);

}  // namespace recordpipe
