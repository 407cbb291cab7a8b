// Writes one split (train, validation or eval) as TFRecord files.
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
  // Number of files, with consecutive records and nearly equal sizes: the concatenated shards equal
  // a single file.
  size_t shards = 1;
  std::stop_token stop = {};
};

// A complete and synced file; file->commit() renames it to its name.
struct FinishedFile {
  std::unique_ptr<AtomicFile> file = {};
  uint64_t records = 0;
  double seconds = 0;  // elapsed for framing, compression, writing and sync
};

// Writes the images of `ranges` to the files split_file_name(split, ...) in `directory`, several
// shards in parallel. Records: cifar_example.h.
std::vector<FinishedFile> write_split(FileSystem& file_system, const std::string& directory,
                                      std::string_view split, const std::vector<BatchRange>& ranges,
                                      const SplitWriteOptions& options);

}  // namespace recordpipe
