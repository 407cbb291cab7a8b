// The options of convert and create for the TFRecord files that they write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "dataset/toolkit/jobs/record_output.h"
#include "dataset/toolkit/jobs/record_split.h"
#include "recordpipe/io/compression.h"
#include "tools/support/command_line/option.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

struct RecordOutputArguments {
  std::string path = {};
  std::optional<Compression> compression = {};  // empty: by the path's extension
  std::string level = {};                       // a number, "fast", or empty for the default
  size_t shards = 0;                            // 0: no shards
  std::string order = {};                       // --shards-by; empty if it isn't given
  std::vector<std::string> split = {};          // of convert: NAME=FRACTION
  uint64_t max_bytes = 0;                       // 0: no limit
  size_t threads = 0;                           // 0: all cores

  bool many() const { return shards > 0 || max_bytes > 0; }
};

// Adds -o, --compression, --level, --shards, --shards-by, --max-bytes and --threads. For
// `may_replace_input`, see OutputOption. Returns -o.
Option add_record_output(CommandApp& app, RecordOutputArguments& arguments,
                         std::function<bool(const CommandContext&)> may_replace_input = {});
// The parts of --split. Throws UsageError.
std::vector<SplitPart> split_parts(const RecordOutputArguments& arguments);
// Throws UsageError if the arguments contradict each other, and Error{invalid_argument} for the
// name of another format.
void check_record_output(const RecordOutputArguments& arguments);

// Writes FIFOs and devices directly. `context` must outlive the result.
RecordOutputOptions record_output_options(const CommandContext& context,
                                          const RecordOutputArguments& arguments);

// "wrote 1,000 records, 3,100,000 bytes (3.0 MiB), to 4 files".
std::string describe(const std::vector<WrittenFile>& written);
// [{"path": ..., "records": ..., "bytes": ...}, ...], with "split" if there are splits.
nlohmann::ordered_json to_json(const std::vector<WrittenFile>& written);

}  // namespace recordpipe
