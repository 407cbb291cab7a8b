// Parses the framing of records, for all readers: for streams, random-access files and mapped
// memory, and for scans that continue after damage. Inline, because walks over short records do
// little else than parse headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

enum class FramingFault : uint8_t {
  none,
  header_cut,         // the file ends inside the header
  length_crc,         // length CRC mismatch
  length_impossible,  // more than INT64_MAX, the limit of file sizes
  too_long,           // more than FramingRules::max_record_size
  data_cut,           // the file ends inside the data
  footer_cut,         // the file ends inside the data's CRC
  data_crc,           // data CRC mismatch
};

struct FramingRules {
  bool check_crc = true;
  uint64_t max_record_size = UINT64_MAX;
  Compression compression = Compression::none;  // of the file
};

inline FramingRules framing_rules(const RecordReadOptions& options) {
  return {.check_crc = options.crc != CrcCheck::never, .max_record_size = options.max_record_size};
}

// A record's frame according to its header. The parameter `record` must begin with the complete
// record, framing included.
struct RecordFrame {
  FramingFault fault = FramingFault::none;
  uint64_t length = 0;  // of the data; 0 if the header is cut

  bool ok() const { return fault == FramingFault::none; }
  uint64_t size() const { return length + kRecordOverhead; }
  std::span<const std::byte> data(std::span<const std::byte> record) const {
    return record.subspan(kRecordHeaderSize, length);
  }
  std::span<const std::byte, kRecordFooterSize> footer(std::span<const std::byte> record) const {
    return record.subspan(kRecordHeaderSize + length).first<kRecordFooterSize>();
  }
  bool data_fits(std::span<const std::byte> record) const {
    return load_little_endian<uint32_t>(footer(record).data()) == mask_crc(crc32c(data(record)));
  }
};

// Parses the header at the beginning of `start`, which has at least 12 bytes, or fewer at the end
// of the file. `left` is the number of bytes from the header to the end of the file, or UINT64_MAX
// if unknown. The data is not checked: the fault is never data_crc.
inline RecordFrame parse_record_header(std::span<const std::byte> start, uint64_t left,
                                       const FramingRules& rules = {}) {
  if (start.size() < kRecordHeaderSize) return {FramingFault::header_cut, 0};
  const auto length = load_little_endian<uint64_t>(start.data());
  if (rules.check_crc &&
      load_little_endian<uint32_t>(start.data() + 8) != mask_crc(crc32c(start.first<8>()))) {
    return {FramingFault::length_crc, length};
  }
  if (length > INT64_MAX) return {FramingFault::length_impossible, length};
  if (length > rules.max_record_size) return {FramingFault::too_long, length};
  const uint64_t behind_header = left - kRecordHeaderSize;
  if (length > behind_header) return {FramingFault::data_cut, length};
  if (behind_header - length < kRecordFooterSize) return {FramingFault::footer_cut, length};
  return {FramingFault::none, length};
}

// Whether `start` begins with the header of a record of `size` bytes, framing included.
inline bool is_record_header(std::span<const std::byte> start, uint64_t size,
                             const FramingRules& rules = {}) {
  const RecordFrame frame = parse_record_header(start, size, rules);
  return frame.ok() && frame.size() == size;
}

// The number of bytes that suffice to identify a file of another format.
inline constexpr size_t kBytesForHint = 64;

// Returns the error for a record at `offset` with a fault. `start` holds the bytes from `offset`
// on: for data_crc, the whole record; otherwise the header and, for a hint, the bytes after it, at
// least kBytesForHint bytes in total if there are as many.
Error framing_error(const RecordFrame& frame, const std::string& path, uint64_t offset,
                    std::span<const std::byte> start, const FramingRules& rules = {});

// Returns the error for data whose CRC is `crc`, while `footer` stores a different CRC.
Error corrupted_data(const std::string& path, uint64_t offset, uint32_t crc,
                     std::span<const std::byte, kRecordFooterSize> footer);

// Returns the error for a file that, unlike its index, has no record of `size` bytes (with framing)
// at `offset`.
Error not_as_indexed(const std::string& path, uint64_t offset, uint64_t size);

// Returns the error for a file that was truncated, or became unreadable, after it was mapped.
Error cut_while_mapped(const std::string& path, uint64_t offset);

}  // namespace recordpipe
