// tfrecord salvage: extracts all intact records of damaged files.
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/format_names.h"
#include "dataset/toolkit/files/salvage_ahead.h"
#include "dataset/toolkit/jobs/record_output.h"
#include "dataset/toolkit/jobs/shard_job.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/record/record_writer.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/damage_report.h"
#include "tools/tfrecord/records/shard_output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct SalvageArguments {
  FileArguments files = FileArguments();
  RecordReadOptions reading = {};
  std::string output = {};
  ShardJob shards = {};
  std::optional<Compression> compression = {};
  size_t threads = 0;
  bool json = false;
};

// --to-dir.
ExitCode salvage_each(const SalvageArguments& arguments, const CommandContext& context) {
  const FilesAndFolders& inputs = arguments.files.found(context);
  std::atomic<bool> was_damaged = false;
  const nlohmann::ordered_json options = {
      {"compression",
       arguments.compression ? std::string(to_string(*arguments.compression)) : "as the input"},
      {"input_compression",
       arguments.reading.compression ? static_cast<int>(*arguments.reading.compression) : -1},
      {"max_record_size", arguments.reading.max_record_size}};
  const auto make = [&](const ShardToMake& shard) {
    AtomicFile file(context.files, shard.output);
    RecordWriter writer(
        file, {.compression = compression_of_shard(context.files, shard.input,
                                                   arguments.compression, arguments.reading)});
    const ScanTotals totals = salvage_file(shard.work, shard.input, arguments.reading,
                                           shard.threads, {.damaged = [](const auto&) {}}, writer);
    if (!totals.intact()) {
      was_damaged = true;
      context.progress.warn(fmt::format("{}: {}", shown_path(shard.input), describe(totals.lost)));
      if (totals.records == 0) {
        throw Error({.kind = ErrorKind::corrupted,
                     .path = shard.input,
                     .reason = "no intact record was found",
                     .hint = "nothing was written"});
      }
    }
    writer.close();
    throw_if_stopped(shard.work.stop, shard.output);
    file.commit();
    return ShardCounts{.records = totals.records, .skipped = totals.lost};
  };
  ShardJob job = arguments.shards;
  job.operation = "salvage " + options.dump();
  job.threads = arguments.threads;
  const ExitCode status = run_shard_command(context, {.name = "salvage",
                                                      .job = std::move(job),
                                                      .inputs = inputs,
                                                      .compression = arguments.compression,
                                                      .json = arguments.json,
                                                      .make = make});
  return combined(status, was_damaged ? ExitCode::no : ExitCode::ok);
}

ExitCode salvage(const SalvageArguments& arguments, const CommandContext& context) {
  check_shard_output(arguments.shards, arguments.output);
  if (!arguments.shards.folder.empty()) return salvage_each(arguments, context);
  const auto paths = arguments.files.paths(context);
  check_json_summary(arguments.json, arguments.output);
  require_name_of_records(arguments.output);
  Output out(context, arguments.output);
  RecordWriter writer(out,
                      {.compression = compression_for(arguments.output, arguments.compression)});
  std::optional<Output> json;
  if (arguments.json) json.emplace(context, "-");
  DamageReport report(arguments.json, [&](std::string_view text) {
    context.progress.clear();
    if (arguments.json) {
      json->write(text);
    } else {
      std::fwrite(text.data(), 1, text.size(), stderr);  // a failure doesn't affect the records
    }
  });
  InputProgress progress(context, "scan", paths);
  const FileWork work = work_of(context, progress);
  SalvageAhead scans(work, paths, arguments.reading, arguments.threads);
  const ScanSinks sinks = {.intact = [&](auto, uint64_t count) { report.intact(count); },
                           .damaged = [&](const DamagedRegion& region) { report.damaged(region); }};
  ExitCode status = ExitCode::ok;
  for (const std::string& path : paths) {
    report.begin(path);
    try {
      const ScanTotals totals = scans.next(sinks, writer);
      context.progress.clear();
      report.end(totals);
      if (!totals.intact()) status = ExitCode::no;
    } catch (const Error& error) {
      report.failed(text_of(error));
      throw;
    }
    if (json) json->flush();
  }
  if (status != ExitCode::ok && writer.records() == 0) {
    throw Error({.kind = ErrorKind::corrupted,
                 .reason = "no intact record was found",
                 .hint = "nothing was written"});
  }
  writer.close();
  out.close();
  if (!arguments.json) {
    context.progress.warn(
        fmt::format("wrote {} to {}", counted(writer.records(), "record"), printable(out.path())));
  }
  return status;
}

}  // namespace

Command salvage_command() {
  return {
      .name = "salvage",
      .summary = "Saves all intact records of damaged files",
      .description =
          R"(Every record whose CRCs match is saved, in order. The bytes that were lost and the reasons are
reported on standard error (with --json on standard output, as by verify). After damage, the next
record is searched for at every byte, also inside damaged records. In a damaged compressed file,
reading continues at the next gzip member or zstd frame. A file with a single member, as gzip(1)
writes it, ends at the damage; the report says how many compressed bytes behind it are lost.
Compressed data refers to bytes before it: until the decompressor notices damage, it may repeat
earlier records, with correct CRCs, which are saved a second time. The records of several files are
written one file after another. The output appears complete or not at all; if there is no intact
record, it does not appear. It can't replace an input.

--to-dir makes a file of the same name from each input in a folder, several at a time, compressed as
the input; see "tfrecord convert". Of the damage of each file, the number of regions and bytes is reported. The damage of
inputs whose files --resume keeps from an earlier run is neither reported again nor in the exit
status.)",
      .examples = R"(  tfrecord salvage damaged.tfrecords -o intact.tfrecords
  tfrecord salvage damaged.tfrecords.gz -o intact.tfrecords.gz
  tfrecord salvage --json 'train-*' -o train.tfrecords > lost.json
  tfrecord salvage 'train-*' --to-dir fixed --keep-going)",
      .answers_no = "an input is damaged, and its intact records are in the output",
      .define = [](CommandApp& app) -> CommandAction {
        const auto arguments = std::make_shared<SalvageArguments>();
        add_files(app, arguments->files);
        add_format_options(app, arguments->reading);
        app.add_output("-o,--output", arguments->output,
                       "Output file, unless --to-dir is given; - is standard output");
        add_compression(app, arguments->compression);
        add_shard_output(app, arguments->shards, arguments->files, arguments->compression);
        add_threads(app, arguments->threads);
        app.add_flag("--json", arguments->json, "Report as JSON on standard output");
        return [arguments](const CommandContext& context) { return salvage(*arguments, context); };
      }};
}

}  // namespace recordpipe
