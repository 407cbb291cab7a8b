// The records of inputs: of several in sequence, for convert, export and diff; or of one input from
// a given record on, for show.
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

// Called for a part of an input without any intact record.
using OnDamage = std::function<void(const std::string& path, const DamagedRegion& region)>;

class InputRecords {
 public:
  // `progress` must outlive this object. With `on_damage`, all intact records are returned, as in
  // salvage (record_scanner.h), and it is called for each damaged region between them; without it,
  // damage is thrown.
  InputRecords(const CommandContext& context, std::vector<std::string> paths,
               const RecordReadOptions& reading, InputProgress& progress,
               OnDamage on_damage = nullptr);
  InputRecords(const InputRecords&) = delete;
  InputRecords& operator=(const InputRecords&) = delete;

  // The next record, with the path of its input, valid until the next call; empty at the end of the
  // last input. Throws the errors of RecordReader, and Error{cancelled}.
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
  // The current input: read in order, or scanned, mapped if possible.
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

// select_records() on all inputs. `activity` is the label of the progress bar.
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
  // A stream is read from its start. If not all records of a plain file or URL are wanted, those
  // before the first are skipped by a matching FILE.idx, otherwise by their headers. The bytes read
  // are reported to `progress`.
  RecordCursor(const CommandContext& context, const std::string& path,
               const RecordReadOptions& reading, RecordRange range, InputProgress& progress);

  // The next record of the range, valid until the next call; empty at the end of the range or file.
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
  // One of: a stream; a file and its index; a file and its headers.
  std::optional<RecordReader> stream_;
  std::unique_ptr<RandomAccessFile> file_;
  std::optional<RecordIndexReader> index_;
  std::optional<RecordHeaderReader> headers_;
  std::vector<std::byte> data_;
};

}  // namespace recordpipe
