// Reads the records of several inputs in sequence, and opens and decompresses the next ones ahead.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/files/held_damage.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_scanner.h"
#include "recordpipe/toolkit/record_selection.h"

namespace recordpipe {

// Records of many files, one file after the other. The next files are opened ahead, and
// decompressed up to 1 MiB each, on other threads: as many as `threads`, at most 16, or 32 objects
// of an object store. Streams are opened at their turn.
class RecordsOfFiles {
 public:
  // `work` and `paths` must outlive this object.
  RecordsOfFiles(const FileWork& work, const std::vector<std::string>& paths,
                 const RecordReadOptions& reading, size_t threads);
  ~RecordsOfFiles();
  RecordsOfFiles(const RecordsOfFiles&) = delete;
  RecordsOfFiles& operator=(const RecordsOfFiles&) = delete;

  // Returns the next record; its data is valid until the next call, its path as long as this
  // object. Throws the errors of opening and reading the file that is next, after all records
  // before it.
  std::optional<Record> read();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct InputReading {
  std::vector<std::string> paths = {};
  RecordReadOptions reading = {};
  OnDamage on_damage = OnDamage::raise;
  // With skip_file and resync; may be empty. Is called before the record behind the region is read.
  DamageSink damaged = {};
  // With `raise`: what errors of damaged records recommend besides; "" for nothing.
  std::string remedy = {};
};

class InputRecords {
 public:
  // `work` and `input` must outlive this object. `threads`: see RecordsOfFiles; only used with
  // OnDamage::raise.
  InputRecords(const FileWork& work, const InputReading& input, size_t threads = 1);
  InputRecords(const InputRecords&) = delete;
  InputRecords& operator=(const InputRecords&) = delete;

  // Returns the next record, with the path of its input, valid until the next call; nullopt at the
  // end of the last input. Throws the errors of RecordReader, and Error{cancelled}.
  std::optional<Record> next();

 private:
  const std::string& path() const { return input_.paths[file_]; }
  std::optional<Record> next_intact();
  void open();
  std::optional<Record> scan();

  const FileWork& work_;
  const InputReading& input_;
  std::optional<RecordsOfFiles> records_;  // with OnDamage::raise
  // The current input, otherwise.
  size_t file_ = 0;
  bool is_mapped_ = false;
  std::optional<RecordScanner> scanner_;
};

// Calls select_records() on all inputs, in a pass called `activity`, with selection.threads also
// for the inputs. Damage behind the last selected record of a limit is not told.
SelectionReport select_inputs(
    const FileWork& work, const InputReading& input, const RecordSelection& selection,
    const char* activity, const std::function<void(RecordPieces, const NumberedRecord&)>& consume);

}  // namespace recordpipe
