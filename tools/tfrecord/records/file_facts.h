// The facts of `tfrecord info` about a file, found with the minimum of reading.
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
  uint64_t bytes = 0;          // of the file; for a stream, the bytes read
  uint64_t content_bytes = 0;  // records with framing; equals `bytes` if not compressed
  bool was_read = false;       // if false, only `bytes` may be known
  std::optional<Compression> compression = {};  // if the file was read
  Distribution sizes = Distribution(65'536);    // of the records' data
  InferredSchema sample = {};                   // of the first records
  bool indexed = false;                         // number of records is from PATH.idx
  bool ended_early = false;                     // there may be more records
  std::string error = {};                       // the reason, or the error in the sample
  ErrorKind error_kind = {};                    // of `error`, unless that is empty
};

// The sample is the first records, up to this number or this many bytes, but at least one.
inline constexpr uint64_t kSampledRecords = 100;
inline constexpr uint64_t kSampledBytes = uint64_t{1} << 20;

// For a plain file: reads its headers, or only a matching index beside it. Any other file is read
// as a stream, with every CRC checked. Errors about the file are returned in `error`, with the
// facts found before; only Error{cancelled} is thrown.
FileFacts find_file_facts(const CommandContext& context, const std::string& path,
                          const RecordReadOptions& reading, InputProgress& progress);

}  // namespace recordpipe
