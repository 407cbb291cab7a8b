// Reads the offsets and sizes of the records of an uncompressed file from the headers, without
// checking the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataset/record/record_framing.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

// Reads the headers in order. The headers of a stable file are read from its memory, with advice to
// read ahead while records are short. Other files are read in pieces of 64 KiB while records are
// short; of long records, only the headers are read. Length CRCs are checked (except with
// CrcCheck::never); data CRCs are not. Not thread-safe.
class RecordHeaderReader {
 public:
  // `file` must be uncompressed; it is not owned. `offset` is that of the first record to read.
  explicit RecordHeaderReader(const RandomAccessFile& file, RecordReadOptions options = {},
                              uint64_t offset = 0);

  // Returns the next record; empty at a clean end. Throws the errors of RecordReader::read for a
  // truncated file and for damaged lengths.
  std::optional<RecordIndexEntry> read();

  // The offset of the next record.
  uint64_t offset() const { return offset_; }

 private:
  // Returns the bytes from `offset_` on: at least `size`, fewer only at the end of the file.
  std::span<const std::byte> fetch(size_t size);
  void advise();

  const RandomAccessFile& file_;
  const uint64_t size_;  // of the file
  const FramingRules rules_;
  uint64_t offset_;
  uint64_t last_size_ = 0;
  uint64_t advised_ = 0;            // up to this offset
  std::vector<std::byte> scratch_;  // empty for a stable file
  std::span<const std::byte> window_;
  uint64_t window_begin_ = 0;
};

// read_indexed_record() (record_index.h) without a copy: the view is into the memory of a stable()
// file, and into `scratch`, which grows as needed, of any other. The view of a mapped file may
// change after the check.
std::span<const std::byte> view_indexed_record(const RandomAccessFile& file,
                                               const RecordIndexEntry& entry,
                                               const RecordReadOptions& options,
                                               std::vector<std::byte>& scratch);

// Returns the first of `entries` for which the file has no record. Reads all headers together.
std::optional<RecordIndexEntry> find_misfit(const RandomAccessFile& file,
                                            std::span<const RecordIndexEntry> entries);

}  // namespace recordpipe
