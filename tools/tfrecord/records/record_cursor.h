// The records of an input from a given one on, without reading what comes before where that can be
// helped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/record/record_header_reader.h"
#include "recordpipe/file.h"
#include "recordpipe/record.h"
#include "recordpipe/record_index.h"
#include "recordpipe/record_reader.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

// Which records are wanted, by their numbers in a file: [first, end).
struct RecordRange {
  uint64_t first = 0;
  uint64_t end = UINT64_MAX;

  bool all() const { return first == 0 && end == UINT64_MAX; }
};

class RecordCursor {
 public:
  // A stream is read from its start. Of a plain file or URL, if not all of it is wanted, the
  // records before the first are skipped by FILE.idx where one is there and fits, else by their
  // headers. The bytes that are read count in `progress`.
  RecordCursor(const CommandContext& context, const std::string& path,
               const RecordReadOptions& reading, RecordRange range, InputProgress& progress);

  // The next record of the range, valid until the next call; nothing at its end or the file's.
  std::optional<Record> read();
  // The number of the record that read() gives next.
  uint64_t next() const { return next_; }

 private:
  bool open_random(const std::string& path);
  std::optional<RecordIndexEntry> read_entry();
  void skip_to_first();

  const CommandContext& context_;
  const RecordReadOptions reading_;
  const RecordRange range_;
  InputProgress& progress_;
  uint64_t next_ = 0;
  // One of: a stream; a file and its index; a file and its headers.
  std::optional<RecordReader> stream_;
  std::unique_ptr<RandomAccessFile> file_;
  std::optional<RecordIndexReader> index_;
  std::optional<RecordHeaderReader> headers_;
  std::vector<std::byte> data_;
};

}  // namespace recordpipe
