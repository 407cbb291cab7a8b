// Where the records of a plain file are, from their headers alone: what counting and measuring them
// needs, without the data in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataset/record/record_framing.h"
#include "recordpipe/file.h"
#include "recordpipe/record_index.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

// Reads headers in order: 64 KiB at a time while records are short, no more than headers where they
// are long, whatever the size of the file. Length CRCs are checked (unless `options.crc` is never),
// data and data CRCs aren't looked at.
class RecordHeaderReader {
 public:
  // `file` is plain and isn't owned.
  explicit RecordHeaderReader(const RandomAccessFile& file, RecordReadOptions options = {});

  // The next record; nothing at a clean end. Throws what RecordReader::read throws for a file that
  // is cut or whose lengths are damaged.
  std::optional<RecordIndexEntry> read();

  // Where the next record starts.
  uint64_t offset() const { return offset_; }

 private:
  // The bytes from `offset_` on: `size`, or those there are.
  std::span<const std::byte> fetch(size_t size);

  const RandomAccessFile& file_;
  const FramingRules rules_;
  uint64_t offset_ = 0;
  std::vector<std::byte> window_;
  uint64_t window_begin_ = 0;
  size_t window_size_ = 0;
  uint64_t last_size_ = 0;
};

}  // namespace recordpipe
