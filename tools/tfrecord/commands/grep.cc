// tfrecord grep: prints the records that an expression selects, as grep prints lines.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/display.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/record_printer.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/text_style.h"

namespace recordpipe {
namespace {

struct GrepArguments {
  std::string expression = {};
  InputArguments inputs = {};
  std::string output = "-";
  bool count = false;
  bool files = false;
  bool quiet = false;
  bool inverts = false;
  std::optional<uint64_t> most = {};
  std::optional<MessageKind> kind = {};
  bool json = false;
  std::vector<std::string> features = {};
  size_t threads = 0;
  bool skip_corrupt = false;
  DisplayArguments display = {};

  bool prints_records() const { return !count && !files && !quiet; }
};

// A word that is no expression is what grep would search.
bool is_word(std::string_view text) { return text.find_first_of("=<>()[]'\"` ") == text.npos; }

Where where_of_expression(const std::string& expression) {
  try {
    return Where(expression, "EXPR");
  } catch (const Error& error) {
    if (expression.empty() || !is_word(expression)) throw;
    throw Error({.kind = error.kind(),
                 .reason = error.reason(),
                 .hint = "contains(*, \"" + expression + "\") finds text in any feature"});
  }
}

PrintOptions print_options(const GrepArguments& arguments, bool colored, SkippedDamage& skipped) {
  InputReading input = input_reading(arguments.inputs.reading, arguments.skip_corrupt);
  input.damaged = skipped.sink();
  PrintOptions options = {.input = std::move(input),
                          .format = arguments.json ? PrintFormat::json : PrintFormat::text,
                          .text = {.colored = colored, .names_place_first = true},
                          .kind = arguments.kind,
                          .features = {arguments.features.begin(), arguments.features.end()},
                          .where = where_of_expression(arguments.expression),
                          .inverts_where = arguments.inverts,
                          .file_limit = arguments.most,
                          .threads = arguments.threads};
  if (!arguments.prints_records()) options.format = PrintFormat::none;
  if ((arguments.files || arguments.quiet) && options.file_limit != 0) options.file_limit = 1;
  return options;
}

class Grep {
 public:
  Grep(const CommandContext& context, const GrepArguments& arguments, bool colored, Output& output)
      : context_(context),
        arguments_(arguments),
        colored_(colored),
        output_(output),
        skipped_(context, "grep"),
        printer_(context, print_options(arguments, colored, skipped_), output) {}

  ExitCode run(const std::vector<std::string>& paths) {
    InputProgress progress(context_, "grep", paths);
    several_ = paths.size() > 1;
    const ExitCode status = for_each_input(context_, "grep", paths, [&](const std::string& path) {
      if (arguments_.quiet && printer_.any()) return ExitCode::ok;
      search(path, progress);
      return ExitCode::ok;
    });
    if (arguments_.quiet && printer_.any()) return ExitCode::ok;
    print_note(context_, "grep", printer_.require_possible(status == ExitCode::ok));
    skipped_.sum_up();
    if (status != ExitCode::ok) return status;
    return printer_.any() ? ExitCode::ok : ExitCode::no;
  }

 private:
  void search(const std::string& path, InputProgress& progress) {
    const std::string shown = without_secrets(path);
    const uint64_t found = printer_.print_file(path, shown, progress);
    if (arguments_.quiet) return;
    if (arguments_.files) {
      if (found > 0) write_line(shown, {{"path", shown}}, "");
    } else if (arguments_.count) {
      write_line(several_ ? shown : "", {{"path", shown}, {"records", found}},
                 std::to_string(found));
    }
    output_.flush();  // before an error of the next file
  }

  void write_line(const std::string& path, const nlohmann::ordered_json& json,
                  const std::string& text) {
    if (arguments_.json) return output_.write(json_line(json));
    const std::string place = painted(printable(path), Color::path, colored_);
    output_.write(place + (place.empty() || text.empty() ? "" : ":") + text + "\n");
  }

  const CommandContext& context_;
  const GrepArguments& arguments_;
  const bool colored_;
  Output& output_;
  SkippedDamage skipped_;
  RecordPrinter printer_;
  bool several_ = false;
};

ExitCode grep(const CommandContext& context, const GrepArguments& arguments) {
  const int modes = arguments.count + arguments.files + arguments.quiet;
  if (modes > 1) throw UsageError("give only one of --count, --files-with-matches and --quiet");
  (void)where_of_expression(arguments.expression);  // refuses mistakes before a pager starts
  const auto paths = arguments.inputs.files.paths(context);
  const Display display(context, arguments.display, arguments.output);
  Output output(context, arguments.output);
  const ExitCode status = Grep(context, arguments, display.colored(), output).run(paths);
  output.close();
  return status;
}

constexpr char kGrepDescription[] =
    R"(Prints the records that EXPR selects, as "tfrecord show" does, after the file's path and the record's
number. An input that can't be read is reported; the others are searched.

With --json, records are printed as by "show --json", always with "path"; --count prints {"path",
"records"} for each file, and --files-with-matches {"path"}.

EXPR: )";

constexpr char kGrepExamples[] =
    R"(  tfrecord grep 'contains(caption, "cat")' 'train-*'
  tfrecord grep 'matches(*, r"(?i)\bcats?\b")' train.tfrecords --json
  tfrecord grep -c 'label == 3' 'train-*'
  tfrecord grep -l 'record.size > 1048576' 'train-*'
  tfrecord grep -qv 'has(label)' train.tfrecords && echo some have no label)";

CommandAction define_grep(CommandApp& app) {
  const auto arguments = std::make_shared<GrepArguments>();
  app.add_option("EXPR", arguments->expression,
                 "Expression that selects records: \"label == 3 and len(box) > 0\"")
      .required()
      .type_name("");
  add_inputs(app, arguments->inputs);
  add_output(app, arguments->output, json_or_text(arguments->json));
  app.add_flag("-c,--count", arguments->count, "Print only the number of records of each file");
  app.add_flag("-l,--files-with-matches", arguments->files,
               "Print only the paths of files with such a record");
  app.add_flag("-q,--quiet", arguments->quiet,
               "Print nothing; exit with status 0 at the first selected record");
  app.add_flag("-v,--invert-match", arguments->inverts,
               "Print the records that EXPR does not select");
  app.add_option("-m,--max-count", arguments->most, "Stop after N records of each file")
      .check(whole_number())
      .type_name("N");
  add_kind(app, arguments->kind);
  add_features(app, arguments->features, "Print only these features");
  add_threads(app, arguments->threads);
  add_skip_corrupt(app, arguments->skip_corrupt);
  app.add_flag("--json", arguments->json, "Print JSON objects");
  add_display(app, arguments->display);
  return [arguments](const CommandContext& context) {
    return with_pager([&] { return grep(context, *arguments); });
  };
}

}  // namespace

Command grep_command() {
  return {.name = "grep",
          .summary = "Prints the records that an expression selects",
          .description = kGrepDescription + where_description(),
          .examples = kGrepExamples,
          .answers_no = "no record is selected",
          .define = define_grep};
}

}  // namespace recordpipe
