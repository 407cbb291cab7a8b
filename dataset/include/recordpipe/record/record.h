// Defines a record as a view of its bytes, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace recordpipe {

struct Record {
  std::span<const std::byte> data;
  // Offset of the record's header, in bytes from the start of the file; for a compressed file, from
  // the start of its decompressed content.
  uint64_t offset = 0;
  // Path of the file, for messages; may be empty. Valid as long as the reader (the pipeline's
  // iterator) or `owner` lives.
  std::string_view path = {};
  // Owner of the buffer that `data` points into. Null for a record of a mapped file (valid as long
  // as the mapping) and for a record returned by RecordReader::read (valid until the next call).
  std::shared_ptr<const std::byte[]> owner = {};
  // The number of the record in its file, counted from 0, if it comes from tfrecord_files().
  uint64_t number = 0;
};

}  // namespace recordpipe
