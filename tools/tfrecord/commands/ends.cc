// tfrecord head and tail: print the first or the last records of each file.
#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "dataset/base/damage_hint.h"
#include "dataset/toolkit/files/count_records.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/stop.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/display.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/records/event_arguments.h"
#include "tools/tfrecord/records/record_follower.h"
#include "tools/tfrecord/records/record_printer.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/text_style.h"

namespace recordpipe {
namespace {

struct EndArguments {
  std::string command = {};  // "head" or "tail"
  InputArguments inputs = {};
  std::string output = "-";
  uint64_t count = 10;
  bool quiet = false;
  bool json = false;
  bool follow = false;  // of tail
  bool skip_corrupt = false;
  std::vector<std::string> features = {};
  std::optional<MessageKind> kind = {};
  std::string where = {};
  EventArguments events = {};
  DisplayArguments display = {};
};

struct KeptRecord {
  std::vector<std::byte> data;
  uint64_t offset;
  uint64_t number;
};

InputReading reading_of(const EndArguments& arguments, SkippedDamage& skipped) {
  InputReading input = input_reading(arguments.inputs.reading, arguments.skip_corrupt);
  input.damaged = skipped.sink();
  return input;
}

class Ends {
 public:
  Ends(const CommandContext& context, const EndArguments& arguments, bool colored)
      : context_(context),
        arguments_(arguments),
        skipped_(context, arguments.command),
        input_(reading_of(arguments, skipped_)),
        events_(event_filter_of(arguments.events)),
        selects_(!arguments.where.empty() || events_),
        colored_(colored),
        output_(context, arguments.output),
        printer_(context,
                 {.input = input_,
                  .format = arguments.json ? PrintFormat::json : PrintFormat::text,
                  .text = {.colored = colored},
                  .kind = arguments.kind,
                  .features = {arguments.features.begin(), arguments.features.end()},
                  .where = where_of(arguments.where),
                  .events = events_,
                  .file_limit = arguments.count,
                  .threads = 1},
                 output_),
        progress_(context, arguments.command, std::nullopt) {}

  ExitCode print(const std::vector<std::string>& paths) {
    const std::string& name = arguments_.command;
    const bool several = paths.size() > 1;
    const ExitCode status = for_each_input(context_, name, paths, [&](const std::string& path) {
      const std::string shown = without_secrets(path);
      if (several && !arguments_.quiet && !arguments_.json) {
        output_.write((&path == &paths.front() ? "" : "\n") +
                      painted("==> " + printable(shown) + " <==", Color::path, colored_) + "\n");
      }
      const std::string with_each = several && arguments_.json ? shown : "";
      name == "head" ? print_first(path, with_each) : print_last(path, with_each);
      output_.flush();  // before an error of the next file
      return ExitCode::ok;
    });
    const bool reads_all = !arguments_.where.empty() && status == ExitCode::ok;
    print_note(context_, name, printer_.require_possible(reads_all));
    skipped_.sum_up();
    output_.close();
    return status;
  }

 private:
  void print_first(const std::string& path, const std::string& shown) {
    printer_.print_file(path, shown, progress_, {.end = selects_ ? UINT64_MAX : arguments_.count});
  }

  void print_last(const std::string& path, const std::string& shown) {
    if (arguments_.follow) follow(path, shown);
    if (arguments_.count == 0) return;
    const auto records =
        selects_ || arguments_.skip_corrupt ? std::nullopt : naming_remedy(input_.remedy, [&] {
          return count_without_reading(work_of(context_, progress_), path, input_.reading);
        });
    if (records) {
      const uint64_t first = *records - std::min(arguments_.count, *records);
      printer_.print_file(path, shown, progress_, {.first = first, .end = *records});
      return;
    }
    for (const KeptRecord& record : last_of_all(path)) {
      printer_.print({{.data = record.data, .offset = record.offset, .path = path}, record.number},
                     shown);
    }
  }

  // The last records that --where selects, by reading all: keeps copies of as many as are wanted.
  std::deque<KeptRecord> last_of_all(const std::string& path) {
    const FileWork work = work_of(context_, progress_);
    InputReading input = input_;
    input.paths = {path};
    InputRecords records(work, input);
    std::deque<KeptRecord> last;
    uint64_t number = 0;
    while (const auto record = records.next()) {
      throw_if_stopped(context_.stop, path);
      const NumberedRecord numbered = {*record, number++};
      if (!printer_.selects(numbered)) continue;
      std::vector<std::byte> data;
      if (last.size() == arguments_.count) {
        data = std::move(last.front().data);  // reuses its memory
        last.pop_front();
      }
      data.assign(record->data.begin(), record->data.end());
      last.push_back({std::move(data), record->offset, numbered.number});
    }
    return last;
  }

  // Prints the last records that are there, then each that is appended, and once there are any, a
  // note of names that they don't have. Returns by an exception only.
  [[noreturn]] void follow(const std::string& path, const std::string& shown) {
    RecordFollower follower(context_, path, input_.reading);
    std::deque<RecordFollower::Entry> last;
    bool any = false;
    while (const auto entry = follower.next()) {
      any = true;
      throw_if_stopped(context_.stop, path);
      if (selects_ && !printer_.selects(follower.read(*entry))) continue;
      last.push_back(*entry);
      if (last.size() > arguments_.count) last.pop_front();
    }
    for (const RecordFollower::Entry& entry : last) printer_.print(follower.read(entry), shown);
    for (bool is_noted = false;;) {
      output_.flush();
      if (any && !is_noted) {
        print_note(context_, "tail", printer_.require_possible(/*looked_at_all=*/false));
        is_noted = true;
      }
      follower.wait();
      while (const auto entry = follower.next()) {
        any = true;
        printer_.print(follower.read(*entry), shown);
      }
    }
  }

  const CommandContext& context_;
  const EndArguments& arguments_;
  SkippedDamage skipped_;
  const InputReading input_;  // without paths
  const std::optional<EventFilter> events_;
  const bool selects_;  // not all records may be printed
  const bool colored_;
  Output output_;
  RecordPrinter printer_;
  InputProgress progress_;
};

ExitCode print_ends(const CommandContext& context, const EndArguments& arguments) {
  const auto paths = arguments.inputs.files.paths(context);
  if (arguments.follow && paths.size() != 1) throw UsageError("--follow is for one file");
  if (arguments.follow && arguments.skip_corrupt) {
    throw UsageError("--follow waits for the rest of a record, and has no --skip-corrupt");
  }
  if (arguments.follow && arguments.output != "-") {
    throw UsageError("--follow prints to standard output; -o FILE appears when all is done");
  }
  (void)event_filter_of(arguments.events);  // refuses mistakes before a pager starts
  DisplayArguments displayed = arguments.display;
  displayed.no_pager = displayed.no_pager || arguments.follow;
  const Display display(context, displayed, arguments.output);
  return Ends(context, arguments, display.colored()).print(paths);
}

CommandAction define_ends(CommandApp& app, const std::string& command) {
  const bool is_tail = command == "tail";
  const auto arguments = std::make_shared<EndArguments>(EndArguments{.command = command});
  add_inputs(app, arguments->inputs);
  add_output(app, arguments->output, json_or_text(arguments->json));
  app.add_option("-n,--records", arguments->count,
                 std::string("Print the ") + (is_tail ? "last" : "first") +
                     " N records of each file; the first argument may also be -N")
      .check(whole_number(0, INT64_MAX))
      .type_name("N")
      .show_default();
  if (is_tail) {
    app.add_flag("-f,--follow", arguments->follow,
                 "Then wait, and print each record that is appended, until Ctrl-C");
  }
  app.add_flag("-q,--quiet", arguments->quiet, "Print no headings with file names");
  add_kind(app, arguments->kind);
  add_where(app, arguments->where);
  add_event_filter(app, arguments->events);
  add_features(app, arguments->features, "Only these features");
  add_skip_corrupt(app, arguments->skip_corrupt);
  app.add_flag("--json", arguments->json, "Print a JSON object for each record");
  add_display(app, arguments->display);
  return [arguments](const CommandContext& context) {
    return with_pager([&] { return print_ends(context, *arguments); });
  };
}

constexpr char kHeadDescription[] =
    R"(Prints the first 10 records of each file as "tfrecord show" does. With several files, each has a
heading. An input that can't be read is reported; the others are printed.

With --where, these are the first records that it selects; see "tfrecord show". --json prints the
objects of "show --json", with "path" where several files are given.)";

constexpr char kHeadExamples[] =
    R"(  tfrecord head train.tfrecords
  tfrecord head -n 1 'train-*' --json
  tfrecord head --where 'label == 3' train.tfrecords)";

constexpr char kTailDescription[] =
    R"(Prints the last 10 records of each file as "tfrecord show" does. With several files, each has
a heading. An input that can't be read is reported; the others are printed. Of a plain file, only
the headers of the records before the last ones are read; if FILE.idx is beside it and matches it,
FILE.idx replaces the headers. Compressed files and standard input are read whole, and the last
records are in memory.

With --where, --tag or --step, these are the last records that are selected (see "tfrecord show"),
and files are read whole, as with --skip-corrupt.

With --follow, which is for one uncompressed file of this machine, the command doesn't end: each
record that another program appends, as a training does to TensorBoard's event file, is printed as
soon as it is complete. A file that becomes smaller, or is replaced, is an error. A tag, or a feature
of --where, that the records which are there don't have is noted before the command waits.

--json prints the objects of "show --json", with "path" where several files are given.)";

constexpr char kTailExamples[] =
    R"(  tfrecord tail train.tfrecords
  tfrecord tail -n 1 'train-*' --json
  tfrecord tail --where 'label == 3' train.tfrecords
  tfrecord tail -f --tag 'loss*' logs/events.out.tfevents.1700000000.host)";

}  // namespace

Command head_command() {
  return {.name = "head",
          .summary = "Prints the first records of each file",
          .description = kHeadDescription,
          .examples = kHeadExamples,
          .define = [](CommandApp& app) { return define_ends(app, "head"); }};
}

Command tail_command() {
  return {.name = "tail",
          .summary = "Prints the last records of each file",
          .description = kTailDescription,
          .examples = kTailExamples,
          .define = [](CommandApp& app) { return define_ends(app, "tail"); }};
}

}  // namespace recordpipe
