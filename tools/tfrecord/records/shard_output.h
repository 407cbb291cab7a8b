// --to-dir: the options and the reports of commands that make a file from each input, and the check
// of the manifest that they write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/jobs/shard_job.h"
#include "recordpipe/io/compression.h"
#include "tools/support/command_line/option.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/file_arguments.h"
#include "tools/tfrecord/io/output.h"

namespace recordpipe {

// Adds --to-dir, --resume and --keep-going. `inputs` and `compression` are the command's, and must
// live until the command line has been parsed. `ending`: that of shard_names(), if it is called
// then. Returns --to-dir.
Option add_shard_output(CommandApp& app, ShardJob& job, const FileArguments& inputs,
                        const std::optional<Compression>& compression,
                        std::function<std::string()> ending = {});
// Throws UsageError without exactly one of -o and --to-dir (job.folder), and for --resume and
// --keep-going without --to-dir. `input`: what --to-dir makes a file from.
void check_shard_output(const ShardJob& job, const std::string& output,
                        std::string_view input = "input");

// A file of a job. The functions run on several threads at a time.
struct ShardToMake {
  const FileWork& work;
  const std::string& input;
  const std::string& output;
  uint64_t seed = 0;  // derived from the job's seed and the output's name
  size_t threads = 1;
};

struct ShardCommand {
  std::string name = {};  // of the command: "convert"
  ShardJob job = {};      // without inputs and outputs
  FilesAndFolders inputs = {};
  std::optional<Compression> compression = {};  // empty: that of each input
  uint64_t seed = 0;
  bool json = false;
  // Returns the counts. Errors are reported by file.
  std::function<ShardCounts(const ShardToMake&)> make = {};
};

// What a job prints: its errors, what was skipped in all and its summary; with --json an object for
// each file, {"path", "output", "records", "bytes", "was_there"}, of a damaged one also
// "regions_skipped", "bytes_skipped" and, if there are any, "compressed_bytes_skipped" and
// "records_skipped"; or {"path", "error"}.
class ShardReports {
 public:
  ShardReports(const CommandContext& context, std::string command, std::string folder, bool json)
      : context_(context), command_(std::move(command)), folder_(std::move(folder)), json_(json) {}

  void add(const std::string& input, const ShardRecord& record, bool was_there);
  void add_failure(const std::string& input, const Error& error);
  // Returns the exit code.
  ExitCode sum_up(bool is_complete, bool keep_going) const;

 private:
  const CommandContext& context_;
  const std::string command_;
  const std::string folder_;
  const bool json_;
  ShardCounts counts_;
  uint64_t files_ = 0;
  uint64_t bytes_ = 0;
  uint64_t were_there_ = 0;
  uint64_t failed_ = 0;
};

// Runs the job (shard_job.h), and prints its reports.
ExitCode run_shard_command(const CommandContext& context, ShardCommand command);

// Compares the size and the CRC-32C of each file in the manifests with the file beside its
// manifest; several files at a time. Writes a line for each file:
//     out/a.tfrecord: as in the manifest, 3 records, 88 bytes
//     out/b.tfrecord: 80 bytes, not the 88 of the manifest
//     {"path": "out/b.tfrecord", "records": 3, "bytes": 88, "intact": false, "error": "..."}
// `records` and `bytes` are those of the manifest. Throws read_manifest()'s errors.
ExitCode check_manifests(const CommandContext& context, const std::vector<std::string>& manifests,
                         size_t threads, bool json, Output& out);

}  // namespace recordpipe
