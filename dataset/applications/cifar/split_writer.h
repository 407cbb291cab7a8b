// One split (train, validation or eval) as TFRecord files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/atomic_file.h"
#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/compression.h"
#include "recordpipe/file.h"

namespace recordpipe {

// Images [begin, end) of a batch.
struct BatchRange {
  std::shared_ptr<const CifarBatch> batch = {};
  size_t begin = 0;
  size_t end = 0;
};

struct SplitWriteOptions {
  Compression compression = Compression::none;
  int compression_level = 6;
  // The split's records are dealt in order, as evenly as can be: the shards read one after the
  // other give the same records as one file would.
  size_t shards = 1;
  std::stop_token stop = {};
};

// A file that is complete and synced, but has its name only after file->commit().
struct FinishedFile {
  std::unique_ptr<AtomicFile> file = {};
  uint64_t records = 0;
  double seconds = 0;  // spent on this file: framing, compressing, writing, syncing
};

// Writes the images of `ranges` to split_file_name(split, ...) in `directory`, several shards at a
// time where the machine has several cores. Records are Example{image: bytes[3072], label: int64};
// where there are coarse labels, also coarse_label and fine_label (then the same as label).
std::vector<FinishedFile> write_split(FileSystem& file_system, const std::string& directory,
                                      std::string_view split, const std::vector<BatchRange>& ranges,
                                      const SplitWriteOptions& options);

}  // namespace recordpipe
