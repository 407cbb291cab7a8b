#include "tools/tfrecord/records/shard_output.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/file_name.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/standard_streams.h"
#include "tools/tfrecord/records/damage_report.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {

Option add_shard_output(CommandApp& app, ShardJob& job, const FileArguments& inputs,
                        const std::optional<Compression>& compression,
                        std::function<std::string()> ending) {
  const Option to_dir =
      app.add_output(
             "--to-dir", job.folder,
             "Instead of -o: make a file of the same name from each input, in this folder; with "
             "--recursive, in the same folders below it",
             [&, ending = std::move(ending)](const CommandContext& context) {
               std::vector<std::string> outputs;
               if (job.folder.empty()) return outputs;
               const FilesAndFolders& found = inputs.found(context);
               for (const std::string& name :
                    shard_names(found.files, compression, found.folders, ending ? ending() : "")) {
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
  return to_dir;
}

void check_shard_output(const ShardJob& job, const std::string& output, std::string_view input) {
  if (job.folder.empty() == output.empty()) {
    throw UsageError(
        output.empty() ? fmt::format("give -o FILE, or --to-dir DIR for a file from each {}", input)
                       : "-o and --to-dir are two outputs: give one of them");
  }
  if (job.folder.empty() && (job.resume || job.keep_going)) {
    throw UsageError("--resume and --keep-going belong to --to-dir");
  }
}

void ShardReports::add(const std::string& input, const ShardRecord& record, bool was_there) {
  ++files_;
  counts_.records += record.counts.records;
  counts_.skipped.merge(record.counts.skipped);
  counts_.records_skipped += record.counts.records_skipped;
  bytes_ += record.bytes;
  were_there_ += was_there ? 1 : 0;
  if (!json_) return;
  nlohmann::ordered_json line = {{"path", without_secrets(input)},
                                 {"output", folder_ + "/" + record.output},
                                 {"records", record.counts.records},
                                 {"bytes", record.bytes},
                                 {"was_there", was_there}};
  add_skipped(record.counts.skipped, line);
  if (record.counts.records_skipped > 0) line["records_skipped"] = record.counts.records_skipped;
  print_json_summary(context_, line);
}

void ShardReports::add_failure(const std::string& input, const Error& error) {
  context_.progress.warn(fmt::format("tfrecord {}: {}", command_, text_of(error)));
  if (json_) print(error_line(input, text_of(error)));
  ++failed_;
}

ExitCode ShardReports::sum_up(bool is_complete, bool keep_going) const {
  context_.progress.clear();
  if (counts_.skipped.regions > 0) {
    context_.progress.warn(
        fmt::format("tfrecord {}: skipped {} in all", command_, describe(counts_.skipped)));
  }
  if (counts_.records_skipped > 0) {
    context_.progress.warn(
        fmt::format("tfrecord {}: left out {} in all, whose image can't be decoded", command_,
                    counted(counts_.records_skipped, "record")));
  }
  if (!json_) {
    std::string text = fmt::format("wrote {}, {}, to {} in {}", counted(counts_.records, "record"),
                                   byte_count(bytes_), counted(files_, "file"), printable(folder_));
    if (were_there_ > 0) text += fmt::format("; {} there already", grouped(were_there_));
    if (failed_ > 0) text += fmt::format("; {} failed", grouped(failed_));
    print_summary(context_, text);
  }
  if (is_complete) return ExitCode::ok;
  context_.progress.warn(
      keep_going ? fmt::format(
                       "tfrecord {}: {} names what failed: --resume tries what has changed, or was "
                       "not damaged",
                       command_, printable(folder_ + "/" + kManifestName))
                 : fmt::format("tfrecord {}: {} isn't written: --resume makes what is missing, and "
                               "--keep-going goes on after what fails",
                               command_, printable(folder_ + "/" + kManifestName)));
  return ExitCode::trouble;
}

ExitCode run_shard_command(const CommandContext& context, ShardCommand command) {
  ShardJob& job = command.job;
  job.inputs = command.inputs.files;
  job.outputs = shard_names(job.inputs, command.compression, command.inputs.folders);
  InputProgress progress(context, command.name, job.inputs);
  FileWork work = work_of(context, progress);
  work.begin_pass = {};  // the passes over several files overlap
  ShardReports reports(context, command.name, job.folder, command.json);
  const auto report = [&](const ShardOutcome& outcome) {
    const std::string& input = job.inputs[outcome.number];
    if (outcome.error) {
      reports.add_failure(input, *outcome.error);
    } else {
      reports.add(input, outcome.record, outcome.was_there);
    }
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
  return reports.sum_up(is_complete, job.keep_going);
}

}  // namespace recordpipe
