// Offsets and sizes of the records of an uncompressed file, from the headers only, without reading
// the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataset/record/record_framing.h"
#include "recordpipe/file.h"
#include "recordpipe/record_index.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

// Reads the headers in order: in the memory of a stable file, with advice to read ahead while
// records are short; of other files 64 KiB at a time while records are short, only the headers of
// long records. Length CRCs are checked (except with CrcCheck::never); data and data CRCs are not
// read. Not thread-safe.
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
  // The bytes from `offset_` on: `size` or more; fewer at the end of the file.
  std::span<const std::byte> fetch(size_t size);
  void advise();

  const RandomAccessFile& file_;
  const uint64_t size_;  // of the file
  const FramingRules rules_;
  uint64_t offset_ = 0;
  uint64_t last_size_ = 0;
  uint64_t advised_ = 0;            // up to this offset
  std::vector<std::byte> scratch_;  // empty for a stable file
  std::span<const std::byte> window_;
  uint64_t window_begin_ = 0;
};

// The first of `entries` at which the file has no such record; all headers are read together.
std::optional<RecordIndexEntry> find_misfit(const RandomAccessFile& file,
                                            std::span<const RecordIndexEntry> entries);

}  // namespace recordpipe
