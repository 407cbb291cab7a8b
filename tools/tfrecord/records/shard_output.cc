#include "tools/tfrecord/records/shard_output.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/file_name.h"
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

void add_shard_output(CommandApp& app, ShardJob& job, const FileArguments& inputs,
                      const std::optional<Compression>& compression) {
  app.add_output(
         "--to-dir", job.folder,
         "Instead of -o: make a file of the same name from each input, in this folder; with "
         "--recursive, in the same folders below it",
         [&](const CommandContext& context) {
           std::vector<std::string> outputs;
           if (job.folder.empty()) return outputs;
           const FilesAndFolders& found = inputs.found(context);
           for (const std::string& name : shard_names(found.files, compression, found.folders)) {
             outputs.push_back(job.folder + "/" + name);
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
  app.add_flag("--resume", job.resume,
               "With --to-dir: keep the files that an earlier run has made from the same inputs "
               "with the same options");
  app.add_flag("--keep-going", job.keep_going,
               "With --to-dir: go on after a file that can't be read or written");
}

void check_shard_output(const ShardJob& job, const std::string& output) {
  if (job.folder.empty() == output.empty()) {
    throw UsageError(output.empty() ? "give -o FILE, or --to-dir DIR for a file from each input"
                                    : "-o and --to-dir are two outputs: give one of them");
  }
  if (job.folder.empty() && (job.resume || job.keep_going)) {
    throw UsageError("--resume and --keep-going belong to --to-dir");
  }
}

ExitCode run_shard_command(const CommandContext& context, ShardCommand command) {
  ShardJob& job = command.job;
  job.inputs = command.inputs.files;
  job.outputs = shard_names(job.inputs, command.compression, command.inputs.folders);
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
    summary.counts.skipped.merge(record.counts.skipped);
    summary.counts.records_skipped += record.counts.records_skipped;
    summary.bytes += record.bytes;
    summary.were_there += outcome.was_there ? 1 : 0;
    if (!command.json) return;
    nlohmann::ordered_json line = {{"path", without_secrets(input)},
                                   {"output", job.folder + "/" + record.output},
                                   {"records", record.counts.records},
                                   {"bytes", record.bytes},
                                   {"was_there", outcome.was_there}};
    add_skipped(record.counts.skipped, line);
    if (record.counts.records_skipped > 0) line["records_skipped"] = record.counts.records_skipped;
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
  if (summary.counts.skipped.regions > 0) {
    context.progress.warn(fmt::format("tfrecord {}: skipped {} in all", command.name,
                                      describe(summary.counts.skipped)));
  }
  if (summary.counts.records_skipped > 0) {
    context.progress.warn(
        fmt::format("tfrecord {}: left out {} in all, whose image can't be decoded", command.name,
                    counted(summary.counts.records_skipped, "record")));
  }
  if (!command.json) print_summary(context, summary.text(job.folder));
  if (is_complete) return ExitCode::ok;
  context.progress.warn(
      job.keep_going
          ? fmt::format(
                "tfrecord {}: {} names what failed: --resume tries what has changed, or was "
                "not damaged",
                command.name, printable(job.folder + "/" + kManifestName))
          : fmt::format("tfrecord {}: {} has no {} yet: --resume makes what is missing, and "
                        "--keep-going goes on after what fails",
                        command.name, printable(job.folder), kManifestName));
  return ExitCode::trouble;
}

}  // namespace recordpipe
