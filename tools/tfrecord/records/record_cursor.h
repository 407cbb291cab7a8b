// Reads the records of one input, from a given record on, for show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/record/record_header_reader.h"
#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/files/input_records.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/toolkit/where.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

// The records with indexes [first, end) in a file.
struct RecordRange {
  uint64_t first = 0;
  uint64_t end = UINT64_MAX;

  bool all() const { return first == 0 && end == UINT64_MAX; }
};

class RecordCursor {
 public:
  // Reads a stream from its start. If `range` doesn't contain all records of a plain file or URL,
  // skips the records before range.first with the help of a matching FILE.idx, or else by reading
  // their headers. `input` has one path. Reports the bytes read to `progress`.
  RecordCursor(const CommandContext& context, InputReading input, RecordRange range,
               InputProgress& progress);

  // Returns the next record of the range, with `path`, valid until the next call; nullopt at the
  // end of the range or file.
  std::optional<NumberedRecord> read();
  // The index of the record that read() returns next.
  uint64_t next() const { return next_; }

 private:
  const std::string& path() const { return input_.paths.front(); }
  bool open_random();
  std::optional<RecordIndexEntry> read_entry();
  void skip_to_first();

  const CommandContext& context_;
  const RecordRange range_;
  InputProgress& progress_;
  uint64_t next_ = 0;
  // The input: its records in turn, a file with its index, or a file whose headers are read.
  FileWork work_;
  const InputReading input_;
  std::optional<InputRecords> in_turn_;
  std::unique_ptr<RandomAccessFile> file_;
  std::optional<RecordIndexReader> index_;
  std::optional<RecordHeaderReader> headers_;
  std::vector<std::byte> data_;
};

}  // namespace recordpipe
