// Writes the TFRecord files of convert and create: one file, or several that appear together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

struct RecordOutputArguments {
  std::string path = {};
  std::optional<Compression> compression = {};  // empty: by the path's extension
  std::string level = {};                       // a number, "fast", or empty for the default
  size_t shards = 0;                            // 0: no shards
  uint64_t max_bytes = 0;                       // 0: no limit
  size_t threads = 0;                           // 0: all cores

  bool many() const { return shards > 0 || max_bytes > 0; }
};

// Adds -o, --compression, --level, --shards, --max-bytes and --threads. For `may_replace_input`,
// see OutputOption.
void add_record_output(CommandApp& app, RecordOutputArguments& arguments,
                       std::function<bool()> may_replace_input = {});
// Throws UsageError if the arguments contradict each other.
void check_record_output(const RecordOutputArguments& arguments);

struct WrittenFile {
  std::string path = {};
  uint64_t records = 0;
  uint64_t bytes = 0;  // of the file
};

// Files:
//     NAME                          without shards
//     NAME-00000-of-00003, ...      --shards 3: nearly equal numbers of records, in order, so that
//                                   the concatenated shards equal a single file
//     NAME-00000-of-00003, ...      --max-bytes: a new file is started if the next record would
//                                   exceed the limit, counted before compression
// All files are complete and synced before the first one gets its name; without close(), no file
// appears. The number of files may exceed the open file limit (atomic_file_set.h). If NAME is a
// FIFO or a device, the records are written to it directly.
class RecordOutput {
 public:
  // `records`: the number of records that will be written; needed for shards.
  RecordOutput(const CommandContext& context, const RecordOutputArguments& arguments,
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

// "wrote 1,000 records, 3,100,000 bytes (3.0 MiB), to 4 files".
std::string describe(const std::vector<WrittenFile>& written);
// [{"path": ..., "records": ..., "bytes": ...}, ...]
nlohmann::ordered_json to_json(const std::vector<WrittenFile>& written);

}  // namespace recordpipe
