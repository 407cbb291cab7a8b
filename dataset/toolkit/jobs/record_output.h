// Writes records to one TFRecord file, or to several that appear together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/toolkit/jobs/record_split.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// `given`; otherwise by the extension of `path`: .gz, .gzip, .zlib, .zst, .zstd; none for others.
Compression compression_for(std::string_view path, std::optional<Compression> given);

enum class ShardOrder {
  blocks,       // each shard takes consecutive records; needs their number first
  round_robin,  // record i goes to shard i % shards
};

struct RecordOutputOptions {
  static constexpr size_t kMaxShards = 99'999;  // five digits
  // Files that are written at the same time: shards in round-robin order, times splits.
  static constexpr size_t kMaxAtOnce = 10'000;

  std::string path = {};
  std::optional<Compression> compression = {};  // by default by the path: compression_for()
  std::optional<int> level = {};                // by default 1 for gzip and zlib, 3 for zstd
  bool fast = false;                            // see ParallelDeflateOptions
  size_t shards = 0;                            // 0: no shards
  std::optional<ShardOrder> order = {};         // by default blocks
  uint64_t max_bytes = 0;                       // 0: no limit. Not together with shards
  size_t threads = 0;                           // for compression; 0: available_cpus()
  RecordSplit split = {};  // each split is written as one file or as the shards of its own
  // Opens a stream that is written instead of the file (default, and if it returns null: none).
  // Not with shards, max_bytes or a split.
  std::function<std::unique_ptr<ByteSink>()> open_stream = {};

  bool many() const { return shards > 0 || max_bytes > 0; }
  // Of all splits, or of all records together.
  size_t sets() const { return std::max<size_t>(1, split.parts.size()); }
  // Whether the number of records of each set must be known before the first is written.
  bool needs_counts() const { return shards > 0 && order != ShardOrder::round_robin; }
};

// Throws Error{invalid_argument} if several files would have names that begin with that of a
// folder, such as ".-train".
void check_names(const RecordOutputOptions& options);
// Throws Error{limit_exceeded} for more than kMaxAtOnce files at a time.
void check_files_at_once(const RecordOutputOptions& options);

// The path of a file; `files`: their number in the split.
std::string output_path(const RecordOutputOptions& options, size_t split, size_t file,
                        size_t files);
// All paths that will be written; without max_bytes, whose number of files depends on the records.
std::vector<std::string> output_paths(const RecordOutputOptions& options);

// Throws Error{invalid_argument} for a level that the compression does not have.
void check_level(const RecordOutputOptions& options);

// Returns the files that the result replaces: NAME, or the existing files NAME-00000-of-00003, ...;
// with max_bytes, all files that it may replace.
std::vector<std::string> replaced_files(FileSystem& files, const RecordOutputOptions& options);

struct WrittenFile {
  std::string path = {};
  uint64_t records = 0;
  uint64_t bytes = 0;      // of the file
  std::string split = {};  // its name, if there are splits
};

// Files:
//     NAME                          without shards
//     NAME-00000-of-00003, ...      shards = 3: nearly equal numbers of records, in order, so that
//                                   the concatenated shards equal a single file
//                                   (ShardOrder::round_robin: dealt out in turn)
//     NAME-00000-of-00003, ...      max_bytes: a new file is started if the next record would
//                                   exceed the limit, counted before compression
//     NAME-train, NAME-train-00000-of-00003, ...   splits: in place of each NAME
//
// The name of a split precedes the extensions .tfrecord and .tfrecords and those of compressions,
// as in TFDS: a/data-train.tfrecord-00000-of-00003 for "a/data.tfrecord". In a folder, "a/", it is
// the whole name: a/train-00000-of-00003.
//
// All files are complete and synced before the first one gets its name; without close(), no file
// appears. The number of files may exceed the open file limit (atomic_file_set.h). Memory: besides
// that of deflate_in_parallel() and buffers of 16 MiB, for more than 64 compressed files at a time
// 32 MiB or 64 KiB each, by smaller blocks (ParallelDeflateOptions::block_size).
class RecordOutput {
 public:
  // `records`: the number of records that will be written to each set; used if
  // options.needs_counts(). Throws the errors of check_names() and check_files_at_once().
  RecordOutput(FileSystem& files, RecordOutputOptions options, std::vector<uint64_t> records = {});
  ~RecordOutput();
  RecordOutput(const RecordOutput&) = delete;
  RecordOutput& operator=(const RecordOutput&) = delete;

  // Writes a record that is given as consecutive pieces; `split` is the number of its split.
  void write(std::span<const std::span<const std::byte>> pieces, size_t split = 0);
  void write(std::span<const std::byte> data) { write(std::span(&data, 1)); }
  // Returns the files by split, in order. Throws Error{corrupted} if needs_counts() and the number
  // of records differs from `records`.
  std::vector<WrittenFile> close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
