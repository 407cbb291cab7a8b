// --to-dir: the options and the reports of commands that make a file from each input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/jobs/shard_record.h"
#include "recordpipe/io/compression.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/file_arguments.h"

namespace recordpipe {

struct ShardOutputArguments {
  std::string folder = {};  // empty: not given
  bool resume = false;
  bool keep_going = false;

  bool is_given() const { return !folder.empty(); }
};

// Adds --to-dir, --resume and --keep-going. `inputs` and `compression` are the command's, and must
// live until the command line has been parsed.
void add_shard_output(CommandApp& app, ShardOutputArguments& arguments, const FileArguments& inputs,
                      const std::optional<Compression>& compression);
// Throws UsageError without exactly one of -o and --to-dir, and for --resume and --keep-going
// without --to-dir.
void check_shard_output(const ShardOutputArguments& arguments, const std::string& output);

// A file of a job. The functions run on several threads at a time.
struct ShardToMake {
  const FileWork& work;
  const std::string& input;
  const std::string& output;
  uint64_t seed = 0;  // derived from the job's seed and the output's name
  size_t threads = 1;
};

struct ShardCommand {
  std::string name = {};       // of the command: "convert"
  std::string operation = {};  // ShardJob::operation
  FilesAndFolders inputs = {};
  std::optional<Compression> compression = {};  // empty: that of each input
  uint64_t seed = 0;
  size_t threads = 0;
  bool json = false;
  // Returns the counts. Errors are reported by file.
  std::function<ShardCounts(const ShardToMake&)> make = {};
};

// Runs the job (shard_job.h), prints its errors, what was skipped in all and its summary: with
// --json an object for each file, {"path", "output", "records", "bytes", "was_there"}, of a damaged
// one also "regions_skipped", "bytes_skipped" and, if there are any, "compressed_bytes_skipped"; or
// {"path", "error"}.
ExitCode run_shard_command(const CommandContext& context, const ShardOutputArguments& arguments,
                           const ShardCommand& command);

}  // namespace recordpipe
