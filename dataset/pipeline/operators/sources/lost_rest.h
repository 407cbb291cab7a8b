// Says how much of a file is lost when damage ends its stream of records.
#pragma once

#include "dataset/pipeline/plan/skip_log.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe::internal {

// `error` has ended `stream`, which can't be read afterwards. For a compressed local file whose
// stream is intact, decompresses up to 256 MiB of the rest to count it.
LostRest lost_rest(FileSystem& file_system, RecordReader& stream, const Error& error);

}  // namespace recordpipe::internal
