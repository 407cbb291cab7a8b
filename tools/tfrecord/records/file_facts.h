// What `tfrecord info` finds out about a file, with as little reading as it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recordpipe/compression.h"
#include "recordpipe/record_reader.h"
#include "recordpipe/toolkit/distribution.h"
#include "recordpipe/toolkit/schema_inference.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

struct FileFacts {
  std::string path = {};
  uint64_t records = 0;
  uint64_t bytes = 0;          // of the file, or what was read of a stream
  uint64_t content_bytes = 0;  // records with their framing: the same, where it isn't compressed
  bool was_read = false;       // otherwise nothing is known, but perhaps its bytes
  std::optional<Compression> compression = {};  // where it was read
  Distribution sizes = Distribution(65'536);    // of the records' data
  InferredSchema sample = {};                   // of the first records
  bool indexed = false;                         // counted from PATH.idx
  bool ended_early = false;                     // there may be more records
  std::string error = {};                       // why, or what is wrong with the sample
  ErrorKind error_kind = {};                    // of `error`, where it is not empty
};

// The first records up to this many or so many bytes, but at least one, are looked into.
inline constexpr uint64_t kSampledRecords = 100;
inline constexpr uint64_t kSampledBytes = uint64_t{1} << 20;

// A plain file: its headers; or an index beside it that fits, and none of them. Any other: read as
// a stream, every CRC checked. Errors about the file are in `error`, beside what was found before;
// only Error{cancelled} is thrown.
FileFacts find_file_facts(const CommandContext& context, const std::string& path,
                          const RecordReadOptions& reading, InputProgress& progress);

}  // namespace recordpipe
