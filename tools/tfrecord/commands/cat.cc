// tfrecord cat: concatenates the records of files.
#include <memory>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "dataset/toolkit/jobs/convert_records.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/output_arguments.h"
#include "tools/tfrecord/records/skipped_damage.h"

namespace recordpipe {
namespace {

struct CatArguments {
  InputArguments inputs = {};
  RecordOutputArguments output = {.options = {.path = "-"}};
  bool skip_corrupt = false;
  bool json = false;
};

ExitCode cat(const CommandContext& context, const CatArguments& arguments) {
  check_record_output(arguments.output);
  check_json_summary(arguments.json, arguments.output.options.path);
  if (arguments.output.options.path == "-" && ::isatty(STDOUT_FILENO) != 0) {
    throw UsageError(
        "records are not printed on a terminal: give -o FILE or use a pipe (tfrecord show prints "
        "them as text)");
  }
  ConvertOptions options = {
      .input = input_reading(arguments.inputs.reading, arguments.skip_corrupt),
      .output = record_output_options(context, arguments.output)};
  options.input.paths = arguments.inputs.files.paths(context);
  SkippedDamage skipped(context, "cat");
  options.input.damaged = skipped.sink();
  InputProgress progress(context, "cat", options.input.paths);
  const ConvertReport report = convert_records(work_of(context, progress), std::move(options));
  context.progress.clear();
  skipped.sum_up();
  if (arguments.json) {
    nlohmann::ordered_json summary = {{"files", to_json(report.files)}};
    if (arguments.skip_corrupt) skipped.add_to(summary);
    print_json_summary(context, summary);
  } else if (arguments.output.options.path != "-") {
    print_summary(context, describe(report.files));
  }
  return ExitCode::ok;
}

constexpr char kCatDescription[] =
    R"(Writes the records of all inputs, in order, to standard output or to a file. Inputs may be compressed,
each in its own way; the output is not, unless --compression or the ending of -o says so. Every CRC is
checked. Damage is an error: a file of -o then doesn't appear, and standard output lacks records
before the damage, too. With --skip-corrupt, all intact records are written.

"tfrecord convert" does the same with more options: levels, shards, selections. --json prints
{"files": [{"path", "records", "bytes"}]}, with --skip-corrupt also "regions_skipped" and
"bytes_skipped".)";

constexpr char kCatExamples[] =
    R"(  tfrecord cat 'train-*-of-00064' -o train.tfrecords
  tfrecord cat a.tfrecords.gz b.tfrecords | tfrecord stats -)";

}  // namespace

Command cat_command() {
  return {.name = "cat",
          .summary = "Concatenates the records of files, decompressed",
          .description = kCatDescription,
          .examples = kCatExamples,
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<CatArguments>();
            add_inputs(app, arguments->inputs);
            add_output(app, arguments->output.options.path);
            add_compression(app, arguments->output.options.compression);
            add_skip_corrupt(app, arguments->skip_corrupt);
            add_json_summary(app, arguments->json);
            return [arguments](const CommandContext& context) { return cat(context, *arguments); };
          }};
}

}  // namespace recordpipe
