// Reads the records of several inputs in sequence, for convert, export and diff; or of one input,
// from a given record on, for show, schema and stats.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/record/record_header_reader.h"
#include "recordpipe/file.h"
#include "recordpipe/record.h"
#include "recordpipe/record_index.h"
#include "recordpipe/record_reader.h"
#include "recordpipe/toolkit/damaged_region.h"
#include "recordpipe/toolkit/record_scanner.h"
#include "recordpipe/toolkit/record_selection.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

// Called for each region of an input that contains no intact record.
using OnDamage = std::function<void(const std::string& path, const DamagedRegion& region)>;

class InputRecords {
 public:
  // `progress` must outlive this object. With `on_damage`, next() returns all intact records, as
  // salvage does (record_scanner.h), and calls `on_damage` for each damaged region. Without
  // `on_damage`, next() throws an Error for damage.
  InputRecords(const CommandContext& context, std::vector<std::string> paths,
               const RecordReadOptions& reading, InputProgress& progress,
               OnDamage on_damage = nullptr);
  InputRecords(const InputRecords&) = delete;
  InputRecords& operator=(const InputRecords&) = delete;

  // Returns the next record, with the path of its input, valid until the next call; nullopt at the
  // end of the last input. Throws the errors of RecordReader, and Error{cancelled}.
  std::optional<Record> next();

 private:
  const std::string& path() const { return paths_[file_]; }
  void open();
  void close();
  std::optional<Record> scan();

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const RecordReadOptions reading_;
  InputProgress& progress_;
  const OnDamage on_damage_;
  size_t file_ = 0;
  // The current input: either read by `reader_`, or scanned by `scanner_`, mapped if possible.
  std::optional<RecordReader> reader_;
  std::unique_ptr<MappedFile> mapped_;
  std::optional<RecordScanner> scanner_;
};

// The inputs of a selection, and options for reading them.
struct InputReading {
  std::vector<std::string> paths = {};
  RecordReadOptions reading = {};
  OnDamage on_damage = nullptr;
};

// Calls select_records() on all inputs. `activity` is the label of the progress bar.
SelectionReport select_inputs(const CommandContext& context, const InputReading& input,
                              const RecordSelection& selection, const std::string& activity,
                              const std::function<void(RecordPieces)>& consume);

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
  // their headers. Reports the bytes read to `progress`.
  RecordCursor(const CommandContext& context, const std::string& path,
               const RecordReadOptions& reading, RecordRange range, InputProgress& progress);

  // Returns the next record of the range, valid until the next call; nullopt at the end of the
  // range or file.
  std::optional<Record> read();
  // The index of the record that read() returns next.
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
  // The input: a stream, a file with its index, or a file whose headers are read.
  std::optional<RecordReader> stream_;
  std::unique_ptr<RandomAccessFile> file_;
  std::optional<RecordIndexReader> index_;
  std::optional<RecordHeaderReader> headers_;
  std::vector<std::byte> data_;
};

}  // namespace recordpipe
