// Writes one split (train, validation or eval) as TFRecord files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"

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
  // Number of files. Each file gets consecutive records and nearly the same number of them:
  // concatenated, the shards have the records of a single file in the same order.
  size_t shards = 1;
  std::stop_token stop = {};
};

// A complete and synced file; file->commit() renames it to its final name.
struct FinishedFile {
  std::unique_ptr<AtomicFile> file = {};
  uint64_t records = 0;
  double seconds = 0;  // elapsed time of framing, compression, writing and sync
};

// Writes the images of `ranges` to the files split_file_name(split, ...) in `directory`, several
// shards in parallel. cifar_example.h describes the records.
std::vector<FinishedFile> write_split(FileSystem& file_system, const std::string& directory,
                                      std::string_view split, const std::vector<BatchRange>& ranges,
                                      const SplitWriteOptions& options);

}  // namespace recordpipe
