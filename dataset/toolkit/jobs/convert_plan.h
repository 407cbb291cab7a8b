// Tells what a conversion would do, without reading records or writing anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/jobs/convert_records.h"

namespace recordpipe {

struct ConvertPlan {
  uint64_t inputs = 0;
  std::optional<uint64_t> bytes = {};  // of all inputs; empty if a size is unknown: a pipe
  // In all inputs; empty if indexes and headers can't tell, as with on_damage.
  std::optional<uint64_t> records = {};
  // The inputs that are read twice, the first time for the numbers of records (at most to the
  // limit, if there is one).
  std::vector<std::string> read_twice = {};
  bool once_if_few = false;  // only once if few records are selected (kept_records.h)
  // The files that are written; with max_bytes, a pattern of their names for each split.
  std::vector<std::string> outputs = {};
};

// Reads indexes, and the headers of local plain files. Throws the errors of convert_records() for
// the options, and those of opening the inputs.
ConvertPlan plan_conversion(const FileWork& work, const ConvertOptions& options);

}  // namespace recordpipe
