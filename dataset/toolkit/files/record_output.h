// Writes records to one TFRecord file, or to several that appear together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"

namespace recordpipe {

// `given`; otherwise by the extension of `path`: .gz, .gzip, .zlib, .zst, .zstd; none for others.
Compression compression_for(std::string_view path, std::optional<Compression> given);

struct RecordOutputOptions {
  static constexpr size_t kMostShards = 99'999;  // five digits

  std::string path = {};
  Compression compression = Compression::none;
  std::optional<int> level = {};  // by default 1 for gzip and zlib, 3 for zstd
  bool fast = false;              // see ParallelDeflateOptions
  size_t shards = 0;              // 0: no shards
  uint64_t max_bytes = 0;         // 0: no limit. Not together with shards
  size_t threads = 0;             // for compression; 0: available_cpus()
  // Opens a stream that is written instead of the file (default, and if it returns null: none).
  // Not with shards or max_bytes.
  std::function<std::unique_ptr<ByteSink>()> open_stream = {};

  bool many() const { return shards > 0 || max_bytes > 0; }
};

// Throws Error{invalid_argument} for a level that the compression does not have.
void check_level(const RecordOutputOptions& options);

// Returns the files that the result replaces: NAME, or the existing files NAME-00000-of-00003, ...;
// with max_bytes, all files that it may replace.
std::vector<std::string> replaced_files(FileSystem& files, const RecordOutputOptions& options);

struct WrittenFile {
  std::string path = {};
  uint64_t records = 0;
  uint64_t bytes = 0;  // of the file
};

// Files:
//     NAME                          without shards
//     NAME-00000-of-00003, ...      shards = 3: nearly equal numbers of records, in order, so that
//                                   the concatenated shards equal a single file
//     NAME-00000-of-00003, ...      max_bytes: a new file is started if the next record would
//                                   exceed the limit, counted before compression
// All files are complete and synced before the first one gets its name; without close(), no file
// appears. The number of files may exceed the open file limit (atomic_file_set.h).
class RecordOutput {
 public:
  // `records`: the number of records that will be written; needed for shards.
  RecordOutput(FileSystem& files, RecordOutputOptions options,
               std::optional<uint64_t> records = {});
  ~RecordOutput();
  RecordOutput(const RecordOutput&) = delete;
  RecordOutput& operator=(const RecordOutput&) = delete;

  // Writes a record that is given as consecutive pieces.
  void write(std::span<const std::span<const std::byte>> pieces);
  void write(std::span<const std::byte> data) { write(std::span(&data, 1)); }
  // With shards, throws Error{corrupted} if the number of records differs from `records`.
  std::vector<WrittenFile> close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
