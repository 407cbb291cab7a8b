// The records of several inputs one after another, as convert, export and diff read them: it may
// pass over damage, and says how far it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/file.h"
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

}  // namespace recordpipe
