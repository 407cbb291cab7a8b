// The options of convert and create for the TFRecord files that they write; what they write, in
// words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "dataset/toolkit/jobs/convert_plan.h"
#include "dataset/toolkit/jobs/record_output.h"
#include "tools/support/command_line/option.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

struct RecordOutputArguments {
  RecordOutputOptions options = {};     // without the parts of a split, and open_stream
  std::vector<std::string> parts = {};  // of convert: NAME=FRACTION
};

// Adds -o, --compression, --level, --shards, --shards-by, --max-bytes and --threads. For
// `may_replace_input`, see OutputOption. Returns -o.
Option add_record_output(CommandApp& app, RecordOutputArguments& arguments,
                         std::function<bool(const CommandContext&)> may_replace_input = {});
// Throws UsageError if the arguments contradict each other, and Error{invalid_argument} for the
// name of another format.
void check_record_output(const RecordOutputArguments& arguments);

// Throws UsageError for a part that is none.
RecordOutputOptions options_of(const RecordOutputArguments& arguments);
// Writes FIFOs and devices directly. `context` must outlive the result.
RecordOutputOptions record_output_options(const CommandContext& context,
                                          const RecordOutputArguments& arguments);

// "wrote 1,000 records, 3,100,000 bytes (3.0 MiB), to 4 files".
std::string describe(const std::vector<WrittenFile>& written);
// [{"path": ..., "records": ..., "bytes": ...}, ...], with "split" if there are splits.
nlohmann::ordered_json to_json(const std::vector<WrittenFile>& written);
// Prints what a conversion would do (--dry-run) on standard output: as text or as {"inputs",
// "bytes", "records", "read_twice", "outputs"}.
ExitCode print_plan(const CommandContext& context, const ConvertPlan& plan, bool json);

}  // namespace recordpipe
