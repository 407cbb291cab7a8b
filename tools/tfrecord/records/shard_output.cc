#include "tools/tfrecord/records/shard_output.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/file_name.h"
#include "dataset/toolkit/jobs/shard_job.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/io/standard_streams.h"
#include "tools/tfrecord/records/damage_report.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct Summary {
  uint64_t files = 0;
  ShardCounts counts;
  uint64_t bytes = 0;
  uint64_t were_there = 0;
  uint64_t failed = 0;

  std::string text(const std::string& folder) const {
    std::string text = fmt::format("wrote {}, {}, to {} in {}", counted(counts.records, "record"),
                                   byte_count(bytes), counted(files, "file"), printable(folder));
    if (were_there > 0) text += fmt::format("; {} there already", grouped(were_there));
    if (failed > 0) text += fmt::format("; {} failed", grouped(failed));
    return text;
  }
};

}  // namespace

void add_shard_output(CommandApp& app, ShardOutputArguments& arguments, const FileArguments& inputs,
                      const std::optional<Compression>& compression) {
  app.add_output(
         "--to-dir", arguments.folder,
         "Instead of -o: make a file of the same name from each input, in this folder; with "
         "--recursive, in the same folders below it",
         [&](const CommandContext& context) {
           std::vector<std::string> outputs;
           if (!arguments.is_given()) return outputs;
           const FilesAndFolders& found = inputs.found(context);
           for (const std::string& name : shard_names(found.files, compression, found.folders)) {
             outputs.push_back(arguments.folder + "/" + name);
           }
           return outputs;
         })
      // Of an object's name, a double slash would be a part.
      .transform([](std::string& folder) {
        while (folder.size() > 1 && folder.ends_with('/') && !folder.ends_with("://")) {
          folder.pop_back();
        }
        return std::string();
      })
      .type_name("DIR");
  app.add_flag("--resume", arguments.resume,
               "With --to-dir: keep the files that an earlier run has made from the same inputs "
               "with the same options");
  app.add_flag("--keep-going", arguments.keep_going,
               "With --to-dir: go on after a file that can't be read or written");
}

void check_shard_output(const ShardOutputArguments& arguments, const std::string& output) {
  if (arguments.is_given() == !output.empty()) {
    throw UsageError(output.empty() ? "give -o FILE, or --to-dir DIR for a file from each input"
                                    : "-o and --to-dir are two outputs: give one of them");
  }
  if (!arguments.is_given() && (arguments.resume || arguments.keep_going)) {
    throw UsageError("--resume and --keep-going belong to --to-dir");
  }
}

ExitCode run_shard_command(const CommandContext& context, const ShardOutputArguments& arguments,
                           const ShardCommand& command) {
  const ShardJob job = {
      .inputs = command.inputs.files,
      .outputs = shard_names(command.inputs.files, command.compression, command.inputs.folders),
      .folder = arguments.folder,
      .operation = command.operation,
      .resume = arguments.resume,
      .keep_going = arguments.keep_going,
      .threads = command.threads};
  InputProgress progress(context, command.name, job.inputs);
  FileWork work = work_of(context, progress);
  work.begin_pass = {};  // the passes over several files overlap
  Summary summary;
  const auto report = [&](const ShardOutcome& outcome) {
    const std::string& input = job.inputs[outcome.number];
    if (outcome.error) {
      context.progress.warn(fmt::format("tfrecord {}: {}", command.name, text_of(*outcome.error)));
      if (command.json) print(error_line(input, text_of(*outcome.error)));
      ++summary.failed;
      return;
    }
    const ShardRecord& record = outcome.record;
    ++summary.files;
    summary.counts.records += record.counts.records;
    summary.counts.regions_skipped += record.counts.regions_skipped;
    summary.counts.bytes_skipped += record.counts.bytes_skipped;
    summary.counts.compressed_bytes_skipped += record.counts.compressed_bytes_skipped;
    summary.bytes += record.bytes;
    summary.were_there += outcome.was_there ? 1 : 0;
    if (!command.json) return;
    nlohmann::ordered_json line = {{"path", without_secrets(input)},
                                   {"output", arguments.folder + "/" + record.output},
                                   {"records", record.counts.records},
                                   {"bytes", record.bytes},
                                   {"was_there", outcome.was_there}};
    if (record.counts.regions_skipped > 0) {
      line["regions_skipped"] = record.counts.regions_skipped;
      line["bytes_skipped"] = record.counts.bytes_skipped;
    }
    if (record.counts.compressed_bytes_skipped > 0) {
      line["compressed_bytes_skipped"] = record.counts.compressed_bytes_skipped;
    }
    print_json_summary(context, line);
  };
  const auto seed_name = [&](size_t number) {
    std::string name = job.outputs[number];
    if (!command.compression) name.resize(name.size() - compression_extension(name));
    return name;
  };
  const bool is_complete = run_shard_job(
      work, job,
      [&](size_t number, const std::string& output, size_t threads) {
        return command.make({.work = work,
                             .input = job.inputs[number],
                             .output = output,
                             // Of a name, not of a position: an input keeps its seed when
                             // others come or go.
                             .seed = seed_of_name(command.seed, seed_name(number)),
                             .threads = threads});
      },
      report);
  context.progress.clear();
  if (summary.counts.regions_skipped > 0) {
    context.progress.warn(
        fmt::format("tfrecord {}: skipped {} in all", command.name,
                    describe_damage(summary.counts.regions_skipped, summary.counts.bytes_skipped,
                                    summary.counts.compressed_bytes_skipped)));
  }
  if (!command.json) print_summary(context, summary.text(arguments.folder));
  if (is_complete) return ExitCode::ok;
  context.progress.warn(
      arguments.keep_going
          ? fmt::format(
                "tfrecord {}: {} names what failed: --resume tries what has changed, or was "
                "not damaged",
                command.name, printable(arguments.folder + "/" + kManifestName))
          : fmt::format("tfrecord {}: {} has no {} yet: --resume makes what is missing, and "
                        "--keep-going goes on after what fails",
                        command.name, printable(arguments.folder), kManifestName));
  return ExitCode::trouble;
}

}  // namespace recordpipe
