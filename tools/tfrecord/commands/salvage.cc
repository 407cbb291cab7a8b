// tfrecord salvage: extracts all intact records of damaged files.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dataset/toolkit/files/record_output.h"
#include "recordpipe/error.h"
#include "recordpipe/record_writer.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/scan_file.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct Arguments {
  std::vector<std::string> files = {};
  RecordReadOptions reading = {};
  std::string output = {};
  std::optional<Compression> compression = {};
  size_t threads = 0;
  bool json = false;
};

ScanTotals salvage(const Arguments& arguments, const CommandContext& context,
                   const std::string& path, RecordWriter& writer, DamageReport& report,
                   InputProgress& progress) {
  const ScanTotals totals =
      salvage_file(work_of(context, progress), path, arguments.reading, arguments.threads,
                   {.intact = [&](auto, uint64_t count) { report.intact(count); },
                    .damaged = [&](const DamagedRegion& region) { report.damaged(region); }},
                   writer);
  context.progress.clear();
  return totals;
}

ExitCode run(const Arguments& arguments, const CommandContext& context) {
  const auto paths = expand_inputs(context.files, arguments.files);
  check_json_summary(arguments.json, arguments.output);
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
  ExitCode status = ExitCode::ok;
  for (const std::string& path : paths) {
    report.begin(path);
    try {
      const ScanTotals totals = salvage(arguments, context, path, writer, report, progress);
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
reading continues at the next gzip member or zstd frame; bytes that can't be decompressed are not
counted. A file with a single member, as gzip(1) writes it, ends at the damage. Compressed data
refers to bytes before it: until the decompressor notices damage, it may repeat earlier records,
with correct CRCs, which are saved a second time. The records of several files are written one file
after another. The output appears complete or not at all; if there is no intact record, it does not
appear. It can't replace an input.)",
      .examples = R"(  tfrecord salvage damaged.tfrecords -o intact.tfrecords
  tfrecord salvage damaged.tfrecords.gz -o intact.tfrecords.gz
  tfrecord salvage --json 'train-*' -o train.tfrecords > lost.json)",
      .answers_no = "an input is damaged, and its intact records are in the output",
      .define = [](CommandApp& app) -> CommandAction {
        const auto arguments = std::make_shared<Arguments>();
        add_files(app, arguments->files);
        add_format_options(app, arguments->reading);
        add_output(app, arguments->output)
            .required()
            .description("Output file (required); - is standard output");
        add_compression(app, arguments->compression);
        add_threads(app, arguments->threads);
        app.add_flag("--json", arguments->json, "Report as JSON on standard output");
        return [arguments](const CommandContext& context) { return run(*arguments, context); };
      }};
}

}  // namespace recordpipe
