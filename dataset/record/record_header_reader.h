// Offsets and sizes of the records of an uncompressed file, from the headers only, without reading
// the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/record_index.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

// Reads the headers in order: 64 KiB at a time while records are short, only the headers of long
// records. Length CRCs are checked (except with CrcCheck::never); data and data CRCs are not read.
// Not thread-safe.
class RecordHeaderReader {
 public:
  // `file` must be uncompressed; it is not owned.
  explicit RecordHeaderReader(const RandomAccessFile& file, RecordReadOptions options = {});

  // The next record; empty at a clean end. Throws the errors of RecordReader::read for a truncated
  // file and for damaged lengths.
  std::optional<RecordIndexEntry> read();

  // The offset of the next record.
  uint64_t offset() const { return offset_; }

 private:
  // The `size` bytes from `offset_` on; fewer at the end of the file.
  std::span<const std::byte> fetch(size_t size);

  const RandomAccessFile& file_;
  const RecordReadOptions options_;
  uint64_t offset_ = 0;
  std::vector<std::byte> window_;
  uint64_t window_begin_ = 0;
  size_t window_size_ = 0;
  uint64_t last_size_ = 0;
};

}  // namespace recordpipe
