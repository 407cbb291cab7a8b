// Finds facts about a file: its records, sizes and kind. Reads as little of it as possible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataset/toolkit/files/file_work.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/toolkit/distribution.h"
#include "recordpipe/toolkit/schema_inference.h"

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
  bool indexed = false;                         // the number of records is from PATH.idx
  bool ended_early = false;                     // there may be more records
  std::optional<Error> error = {};              // why reading ended, or the error in the sample

  // Adds up the facts of several files, as if they were a single file.
  void merge(const FileFacts& other);
};

// The sample takes the first records until it has this many records or bytes, but at least one.
inline constexpr uint64_t kSampledRecords = 100;
inline constexpr uint64_t kSampledBytes = uint64_t{1} << 20;

// For a plain file: reads the sample, and the record headers or only a matching index beside the
// file. Reads any other file as a stream, and checks CRCs as `reading` says. Returns errors about
// the file in `error`, with the facts found before the error; throws only Error{cancelled}.
// `status`: input_status() of the file, if the caller has it already. `kind`: the type of the
// messages (default: as message_kind() says).
FileFacts find_file_facts(const FileWork& work, const std::string& path,
                          const RecordReadOptions& reading,
                          const std::optional<InputStatus>& status = {},
                          std::optional<MessageKind> kind = {});

}  // namespace recordpipe
