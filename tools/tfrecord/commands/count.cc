// tfrecord count: counts the records of files, as wc -l counts lines.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "dataset/base/damage_hint.h"
#include "dataset/toolkit/files/count_records.h"
#include "dataset/toolkit/files/many_files.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/record_printer.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct CountArguments {
  InputArguments inputs = {};
  std::string output = "-";
  FilterArguments filter = {};
  size_t threads = 0;
  bool skip_corrupt = false;
  TableArguments table = {};
};

struct Counted {
  std::string path;
  uint64_t records = 0;
  std::string error = {};  // why it can't be read; empty: it was
};

std::string as_json(const std::vector<Counted>& files, uint64_t total) {
  std::string lines;
  for (const Counted& file : files) {
    lines += file.error.empty()
                 ? json_line({{"path", without_secrets(file.path)}, {"records", file.records}})
                 : error_line(without_secrets(file.path), file.error);
  }
  if (files.size() > 1) lines += json_line({{"files", files.size()}, {"records", total}});
  return lines;
}

// Calls write() for the table: as wc prints it, or with a header for CSV.
void write_table(const std::vector<Counted>& files, uint64_t total, bool csv, Output& out) {
  TextTable table({Align::right, Align::left});
  if (csv) table.add({"records", "path"});
  for (const Counted& file : files) {
    if (!file.error.empty()) continue;
    table.add(
        {std::to_string(file.records), csv ? without_secrets(file.path) : shown_path(file.path)});
  }
  if (csv) return table.write_csv(out);
  if (files.size() > 1) table.add({std::to_string(total), "total"});
  out.write(table.text());
}

ExitCode count(const CommandContext& context, const CountArguments& arguments) {
  const TableFormat format = table_format(arguments.table);
  std::optional<Where> where = where_of(arguments.filter.where);
  InputReading input = input_reading(arguments.inputs.reading, arguments.skip_corrupt);
  const bool reads = where || arguments.filter.limit || arguments.skip_corrupt;
  const auto paths = arguments.inputs.files.paths(context);
  Output output(context, arguments.output);
  SkippedDamage skipped(context, "count");
  input.damaged = skipped.sink();
  RecordPrinter matches(context,
                        {.input = input,
                         .format = PrintFormat::none,
                         .kind = arguments.filter.kind,
                         .where = std::move(where),
                         .limit = arguments.filter.limit,
                         .threads = arguments.threads},
                        output);
  InputProgress progress(context, "count", paths);
  std::vector<Counted> files;
  uint64_t total = 0;
  ExitCode status = ExitCode::ok;
  const FileWork work = work_of(context, progress);
  const auto count_file = [&](const FileShare& share) {
    Counted file = {.path = paths[share.number]};
    try {
      file.records =
          reads ? matches.print_file(file.path, "", progress) : naming_remedy(input.remedy, [&] {
            return count_records(work, file.path, input.reading);
          });
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::cancelled) throw;
      file.error = text_of(error);
    }
    return file;
  };
  // All threads look into the records of one file at a time.
  const size_t threads = reads ? 1 : arguments.threads;
  for_each_file<Counted>(work, paths, threads, turn_of_headers, count_file, [&](Counted file) {
    if (!file.error.empty()) {
      context.progress.warn("tfrecord count: " + file.error);
      status = ExitCode::trouble;
    }
    total += file.records;
    files.push_back(std::move(file));
    return true;
  });
  print_note(context, "count", matches.require_possible(status == ExitCode::ok));
  context.progress.clear();
  skipped.sum_up();
  if (format == TableFormat::json) {
    output.write(as_json(files, total));
  } else {
    write_table(files, total, format == TableFormat::csv, output);
  }
  output.close();
  return status;
}

constexpr char kCountDescription[] =
    R"(Prints the number of records of each file and, of several, their total, as wc does. Of a
plain file, only the records' headers are read; if FILE.idx is beside it and matches it, only
FILE.idx. Compressed files and standard input are read whole. Data CRCs are not checked, except with
--where, which reads the records of all files. An input that can't be read is reported; the others
are counted.

--json prints {"path", "records"} for each file and, if several are given, a last {"files",
"records"}; with "error" for a file that can't be read. --format csv prints the columns records and
path, without a total.

--where: )";

constexpr char kCountExamples[] =
    R"(  tfrecord count 'train-*'
  tfrecord count 'train-*' --where 'label == 3' --json
  tfrecord count train.tfrecords --where 'record.size > 1048576')";

}  // namespace

Command count_command() {
  return {.name = "count",
          .summary = "Counts the records of files, as wc -l counts lines",
          .description = kCountDescription + where_description(),
          .examples = kCountExamples,
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<CountArguments>();
            add_inputs(app, arguments->inputs);
            add_output(app, arguments->output, format_of(arguments->table));
            add_filter(app, arguments->filter);
            add_threads(app, arguments->threads);
            add_skip_corrupt(app, arguments->skip_corrupt);
            add_table_format(app, arguments->table,
                             "Print a JSON object for each file, and one for the total");
            return
                [arguments](const CommandContext& context) { return count(context, *arguments); };
          }};
}

}  // namespace recordpipe
