// tfrecord verify: checks every CRC of every record, and reports damaged regions.
#include <memory>
#include <string>

#include "recordpipe/error.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/scan_file.h"

namespace recordpipe {
namespace {

struct Arguments {
  std::vector<std::string> files = {};
  RecordReadOptions reading = {};
  std::string output = {};
  size_t threads = 0;
  bool json = false;
};

ExitCode verify(const Arguments& arguments, const CommandContext& context, const std::string& path,
                DamageReport& report, InputProgress& progress) {
  report.begin(path);
  try {
    const ScanTotals totals =
        scan_file(work_of(context, progress), path, arguments.reading, arguments.threads,
                  {.intact = [&](auto, uint64_t count) { report.intact(count); },
                   .damaged = [&](const DamagedRegion& region) { report.damaged(region); }});
    context.progress.clear();
    report.end(totals);
    return totals.intact() ? ExitCode::ok : ExitCode::no;
  } catch (const Error& error) {
    report.failed(text_of(error));
    throw;
  }
}

ExitCode run(const Arguments& arguments, const CommandContext& context) {
  const auto paths = expand_inputs(context.files, arguments.files);
  Output out(context, arguments.output);
  DamageReport report(arguments.json, [&](std::string_view text) { out.write(text); });
  InputProgress progress(context, "scan", paths);
  const ExitCode status = for_each_input(
      context, "verify", paths,
      [&](const std::string& path) {
        const ExitCode result = verify(arguments, context, path, report, progress);
        out.flush();
        return result;
      },
      answer_of);
  out.close();
  return status;
}

}  // namespace

Command verify_command() {
  return {
      .name = "verify",
      .summary = "Checks every CRC, and says which bytes are damaged",
      .description =
          R"(Plain files are checked on all cores. For each file it says that it is intact, or which bytes
[begin, end) are damaged, why, and how many records stand before, between and behind them. After
damage the next record is searched for at every byte: one whose length's CRC and whose data's CRC
fit. Offsets are those of the records, in compressed files of the inflated content. Where such a file
is damaged itself, reading goes on with the next gzip member or zstd frame; what can't be inflated
is in no count of bytes.

With --json each file is one object on a line: {path, records, intact, regions: [{begin, end, reason,
records_before}], bytes, bytes_lost, compression}: records is how many are intact, records_before how
many of them stand before the damage, intact is true where nothing but records is in the file. bytes
are those of the inflated content. Where a file could not be read to its end, error says why, and the
last three are missing.)",
      .examples = R"(  tfrecord verify train.tfrecords
  tfrecord verify --json 'train-*' | jq -r 'select(.intact | not) | .path'
  curl -s https://example.org/train.tfrecords.gz | tfrecord verify -)",
      .answers_no = "a file is damaged",
      .define = [](CommandApp& app) -> CommandAction {
        const auto arguments = std::make_shared<Arguments>();
        add_files(app, arguments->files);
        add_format_options(app, arguments->reading);
        add_output(app, arguments->output);
        add_threads(app, arguments->threads);
        app.add_flag("--json", arguments->json, "One JSON object a file");
        return [arguments](const CommandContext& context) { return run(*arguments, context); };
      }};
}

}  // namespace recordpipe
