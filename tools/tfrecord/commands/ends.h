// What head and tail have in common: their options, headings, and errors of single files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "recordpipe/record/record_reader.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"
#include "tools/tfrecord/records/record_printer.h"

namespace recordpipe {

struct EndInput {
  const CommandContext& context;
  const std::string& path;
  std::string_view shown;  // the path to print with each record; empty: none
  const RecordReadOptions& reading;
  InputProgress& progress;
  uint64_t count;        // of records to print
  bool selects = false;  // not all records may be printed: --where, --tag or --step is given
  bool follow = false;   // --follow is given
  Output& output;        // of the printer
};

// `which`: "first" or "last". `print` prints these records of an input. `can_follow`: --follow is
// an option.
CommandAction define_end_command(
    CommandApp& app, const std::string& name, const std::string& which,
    std::function<void(RecordPrinter& printer, const EndInput& input)> print,
    bool can_follow = false);

}  // namespace recordpipe
