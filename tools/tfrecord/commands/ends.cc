#include "tools/tfrecord/commands/ends.h"

#include <memory>
#include <utility>
#include <vector>

#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/io/display.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/records/event_arguments.h"
#include "tools/tfrecord/text/text_style.h"

namespace recordpipe {
namespace {

struct EndArguments {
  InputArguments inputs = {};
  std::string output = "-";
  uint64_t count = 10;
  bool quiet = false;
  bool json = false;
  bool follow = false;
  std::vector<std::string> features = {};
  std::optional<MessageKind> kind = {};
  std::string where = {};
  EventArguments events = {};
  DisplayArguments display = {};
};

ExitCode print_ends(const CommandContext& context, const EndArguments& arguments,
                    const std::string& name,
                    const std::function<void(RecordPrinter&, const EndInput&)>& print) {
  const auto paths = arguments.inputs.files.paths(context);
  if (arguments.follow && paths.size() != 1) throw UsageError("--follow is for one file");
  if (arguments.follow && arguments.output != "-") {
    throw UsageError("--follow prints to standard output; -o FILE appears when all is done");
  }
  const auto events = event_filter_of(arguments.events);
  DisplayArguments displayed = arguments.display;
  displayed.no_pager = displayed.no_pager || arguments.follow;
  const Display display(context, displayed, arguments.output);
  Output output(context, arguments.output);
  RecordPrinter printer(context,
                        {.reading = arguments.inputs.reading,
                         .format = arguments.json ? PrintFormat::json : PrintFormat::text,
                         .text = {.colored = display.colored()},
                         .kind = arguments.kind,
                         .features = {arguments.features.begin(), arguments.features.end()},
                         .where = where_of(arguments.where),
                         .events = events,
                         .file_limit = arguments.count,
                         .threads = 1},
                        output);
  InputProgress progress(context, name, std::nullopt);
  const bool several = paths.size() > 1;
  bool is_first = true;
  const ExitCode status = for_each_input(context, name, paths, [&](const std::string& path) {
    const std::string shown = without_secrets(path);
    if (several && !arguments.quiet && !arguments.json) {
      output.write((is_first ? "" : "\n") +
                   painted("==> " + printable(shown) + " <==", Color::path, display.colored()) +
                   "\n");
    }
    is_first = false;
    print(printer, {.context = context,
                    .path = path,
                    .shown = several && arguments.json ? shown : "",
                    .reading = arguments.inputs.reading,
                    .progress = progress,
                    .count = arguments.count,
                    .selects = !arguments.where.empty() || events,
                    .follow = arguments.follow,
                    .output = output});
    output.flush();  // before an error of the next file
    return ExitCode::ok;
  });
  const bool reads_all = !arguments.where.empty() && status == ExitCode::ok;
  print_note(context, name, printer.require_possible(reads_all));
  output.close();
  return status;
}

}  // namespace

CommandAction define_end_command(CommandApp& app, const std::string& name, const std::string& which,
                                 std::function<void(RecordPrinter&, const EndInput&)> print,
                                 bool can_follow) {
  const auto arguments = std::make_shared<EndArguments>();
  add_inputs(app, arguments->inputs);
  add_output(app, arguments->output, json_or_text(arguments->json));
  app.add_option(
         "-n,--records", arguments->count,
         "Print the " + which + " N records of each file; the first argument may also be -N")
      .check(whole_number(0, INT64_MAX))
      .type_name("N")
      .show_default();
  if (can_follow) {
    app.add_flag("-f,--follow", arguments->follow,
                 "Then wait, and print each record that is appended, until Ctrl-C");
  }
  app.add_flag("-q,--quiet", arguments->quiet, "Print no headings with file names");
  add_kind(app, arguments->kind);
  add_where(app, arguments->where);
  add_event_filter(app, arguments->events);
  add_features(app, arguments->features, "Only these features");
  app.add_flag("--json", arguments->json, "Print a JSON object for each record");
  add_display(app, arguments->display);
  return [arguments, name, print = std::move(print)](const CommandContext& context) {
    return with_pager([&] { return print_ends(context, *arguments, name, print); });
  };
}

}  // namespace recordpipe
