// The records of inputs: of several, one after another, as convert, export and diff read them; or
// those of one from a given record on, as show reads them.
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

// Is told of a part of an input in which no record is intact.
using OnDamage = std::function<void(const std::string& path, const DamagedRegion& region)>;

class InputRecords {
 public:
  // `progress` must live as long. With `on_damage` all intact records come, as
  // salvage finds them (record_scanner.h), and it is called for what lies between them; without it
  // damage is thrown.
  InputRecords(const CommandContext& context, std::vector<std::string> paths,
               const RecordReadOptions& reading, InputProgress& progress,
               OnDamage on_damage = nullptr);
  InputRecords(const InputRecords&) = delete;
  InputRecords& operator=(const InputRecords&) = delete;

  // Valid until the next call, with the path of its input; nothing at the end of the last one.
  // Throws what RecordReader throws, and Error{cancelled}.
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
  // The present input: read in order, or scanned, which maps it where that can be done.
  std::optional<RecordReader> reader_;
  std::unique_ptr<MappedFile> mapped_;
  std::optional<RecordScanner> scanner_;
};

// How the inputs of a selection are read.
struct InputReading {
  std::vector<std::string> paths = {};
  RecordReadOptions reading = {};
  OnDamage on_damage = nullptr;
};

// select_records() of all inputs. `activity` is what a bar on the terminal calls it.
SelectionReport select_inputs(const CommandContext& context, const InputReading& input,
                              const RecordSelection& selection, const std::string& activity,
                              const std::function<void(RecordPieces)>& consume);

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
