// tfrecord show: prints records as JSON, as text or unchanged.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "dataset/base/parse_number.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/display.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/event_arguments.h"
#include "tools/tfrecord/records/record_printer.h"
#include "tools/tfrecord/records/skipped_damage.h"

namespace recordpipe {
namespace {

struct ShowArguments {
  InputArguments inputs = {};
  std::string output = "-";
  std::string format = {};
  bool json = false;
  bool framed = false;
  std::optional<uint64_t> record = {};
  std::string range = {};
  std::vector<std::string> features = {};
  std::optional<MessageKind> kind = {};
  std::string proto = {};
  std::string message = {};
  std::vector<std::string> proto_path = {};
  EventArguments events = {};
  std::string where = {};
  bool skip_corrupt = false;
  std::optional<uint64_t> limit = {};
  size_t threads = 0;
  DisplayArguments display = {};
};

PrintFormat chosen_format(const ShowArguments& arguments) {
  if (arguments.framed) {
    if (arguments.format != "raw") throw UsageError("--framed is for --format raw");
    return PrintFormat::framed;
  }
  if (arguments.json && !arguments.format.empty() && arguments.format != "json") {
    throw UsageError("--json and --format " + arguments.format + " contradict each other");
  }
  if (arguments.json || arguments.format == "json") return PrintFormat::json;
  return arguments.format == "raw" ? PrintFormat::raw : PrintFormat::text;
}

// Parses "A:B"; A and B may be omitted.
RecordRange parse_range(std::string_view text) {
  const size_t colon = text.find(':');
  const auto number = [&](std::string_view digits, uint64_t otherwise) {
    if (digits.empty()) return otherwise;
    const auto value = parse_number<uint64_t>(digits);
    if (value && *value <= INT64_MAX) return *value;
    throw UsageError(
        fmt::format("invalid --range '{}': expected FIRST:END, numbers from 0 to {}, as in "
                    "100:200",
                    shown_word(text), INT64_MAX));
  };
  const std::string_view end = colon == text.npos ? "no colon" : text.substr(colon + 1);
  return {.first = number(text.substr(0, colon), 0), .end = number(end, UINT64_MAX)};
}

RecordRange chosen_range(const ShowArguments& arguments) {
  if (arguments.record && !arguments.range.empty()) {
    throw UsageError("--record and --range can't go together");
  }
  if (arguments.record) return {.first = *arguments.record, .end = *arguments.record + 1};
  return arguments.range.empty() ? RecordRange() : parse_range(arguments.range);
}

std::shared_ptr<const ProtoMessages> proto_messages(const ShowArguments& arguments) {
  if (arguments.proto.empty() != arguments.message.empty()) {
    throw UsageError("--proto FILE and --message NAME go together");
  }
  if (arguments.proto.empty()) {
    if (!arguments.proto_path.empty()) throw UsageError("--proto-path belongs to --proto");
    return nullptr;
  }
  if (arguments.kind) throw UsageError("--proto and --kind exclude each other");
  if (!arguments.features.empty()) {
    throw UsageError("--feature is for Examples, not for the messages of --proto");
  }
  return std::make_shared<const ProtoMessages>(arguments.proto, arguments.message,
                                               arguments.proto_path);
}

// Fields with the default values of their type aren't in records.
std::optional<Where> where_of_fields(const ShowArguments& arguments,
                                     const std::shared_ptr<const ProtoMessages>& proto) {
  std::optional<Where> where = where_of(arguments.where);
  if (!where || !proto) return where;
  where->set_known([proto](const std::string& name) { return proto->has_field(name); });
  return where;
}

PrintOptions print_options(const ShowArguments& arguments, SkippedDamage& skipped) {
  InputReading input = input_reading(arguments.inputs.reading, arguments.skip_corrupt);
  input.damaged = skipped.sink();
  const auto proto = proto_messages(arguments);
  return {.input = std::move(input),
          .format = chosen_format(arguments),
          .kind = arguments.kind,
          .features = {arguments.features.begin(), arguments.features.end()},
          .proto = proto,
          .where = where_of_fields(arguments, proto),
          .events = event_filter_of(arguments.events),
          .limit = arguments.limit,
          .threads = arguments.threads};
}

ExitCode show(const CommandContext& context, const ShowArguments& arguments) {
  const RecordRange range = chosen_range(arguments);
  SkippedDamage skipped(context, "show");
  PrintOptions options = print_options(arguments, skipped);
  const Display display(context, arguments.display, arguments.output);
  options.text.colored = display.colored();
  Output output(context, arguments.output);
  RecordPrinter printer(context, std::move(options), output);
  const auto paths = arguments.inputs.files.paths(context);
  InputProgress progress = range.all() ? InputProgress(context, "show", paths)
                                       : InputProgress(context, "show", std::nullopt);
  for (const std::string& path : paths) {
    if (printer.is_full()) break;
    uint64_t records = 0;
    printer.print_file(path, paths.size() > 1 ? without_secrets(path) : "", progress, range,
                       &records);
    if (!arguments.record || records > *arguments.record) continue;
    throw Error({.kind = ErrorKind::not_found,
                 .path = path,
                 .reason = fmt::format("no record {}: it has {}", *arguments.record, records)});
  }
  print_note(context, "show", printer.require_possible(range.all()));
  skipped.sum_up();
  output.close();
  return ExitCode::ok;
}

constexpr char kShowDescription[] =
    R"(Text shows what is in a record at a glance: the first values of each feature, bytes by what they
are (text, PNG, JPEG, or the first of them in hexadecimal). Raw is a record's data, or the record
with its framing.

--json prints one object a line: {"record": N, "offset": B, "features": {NAME: [values]}}, with
"path" where several files are given. Names are sorted. Floats have a point or an exponent; NaN,
Infinity and -Infinity are written as Python's json module does. Bytes are {"base64": "..."} unless
they are text: valid UTF-8 without control characters other than tab, newline and carriage return.
Features whose list is empty have their kind in "kinds": {NAME: "bytes", "float" or "int64"}. A
SequenceExample's "features" are its context's, beside "feature_lists": {NAME: [[values of a step],
...]}, where a step without a list is null; kinds of empty steps are in "step_kinds". The "features"
of an ExampleListWithContext (TensorFlow Ranking) are its context's, beside "examples": [{NAME:
[values]}, ...]. An Event of TensorBoard is {"record", "offset", "event": {"wall_time", "step",
"summary": [{"tag", and "value", or "text", or "dtype", "shape" and "values" of a tensor}]}}; any other record {"record", "offset", "payload"}, which is
text or base64 as above. A record that is an Example except for some field has the reason in "undecided": with
--kind example it is read as one, without this field.

With --proto, records are messages of any type: text is protobuf's text format, and --json prints
{"record", "offset", "message": {...}} as protobuf defines it; fields that the type lacks, which JSON
leaves out, are counted in "unknown_fields". For --where, each field that is set is a feature, named
by its path: --where "image.camera == 'FRONT' and time > 1507678826". Booleans are 0 and 1,
enumerations their names. In proto3, a field that has its default value is not set: false is
"not ok == 1", and 0 "not time > 0 and not time < 0". Numbers are compared exactly, also doubles and
large uint64s. A record that is no such message is an error.

Records are numbered from 0 in each file. In a plain file, --record and --range read no record
before the first selected one: they use FILE.idx if it is beside the file and matches it, else the
records' headers.)";

constexpr char kShowExamples[] =
    R"(  tfrecord show train.tfrecords --limit 3
  tfrecord show train.tfrecords --record 41 --json
  tfrecord show 'train-*' --where 'label == 3 and len(box) > 0' --feature label
  tfrecord show frames.tfrecord --proto dataset.proto --message Frame --limit 1
  tfrecord show train.tfrecords --range 100:200 --json | jq '.features.label[0]'
  tfrecord show events.out.tfevents.* --tag 'loss*' --step 1000:2000)";

}  // namespace

Command show_command() {
  return {.name = "show",
          .summary = "Prints records as text, JSON or raw bytes",
          .description = std::string(kShowDescription) + "\n\n--where: " + where_description(),
          .examples = kShowExamples,
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<ShowArguments>();
            add_inputs(app, arguments->inputs);
            add_output(app, arguments->output, [arguments] {
              if (arguments->format == "raw") return "";  // any
              return arguments->json || arguments->format == "json" ? "json" : "text";
            });
            app.add_option("--format", arguments->format, "Output format (default: text)")
                .one_of({"json", "text", "raw"});
            app.add_flag("--json", arguments->json, "The same as --format json");
            app.add_flag("--framed", arguments->framed,
                         "With --format raw: also print the framing of records");
            app.add_option("--record", arguments->record, "Only record N of each file, from 0")
                .check(whole_number(0, INT64_MAX))
                .type_name("N");
            app.add_option("--range", arguments->range,
                           "Only records FIRST to END - 1 of each file; either may be left out")
                .type_name("FIRST:END");
            add_features(app, arguments->features, "Only these features");
            add_kind(app, arguments->kind);
            app.add_input(
                   "--proto", arguments->proto,
                   "Records are protobuf messages of another type, which this .proto file or "
                   "compiled FileDescriptorSet describes")
                .type_name("FILE");
            app.add_option("--message", arguments->message, "The name of the type, for --proto")
                .type_name("NAME");
            app.add_option("--proto-path", arguments->proto_path,
                           "Folder of the imports of --proto's FILE (default: its folder, and the "
                           "current one); may be repeated")
                .type_name("FOLDER");
            add_event_filter(app, arguments->events);
            add_where(app, arguments->where);
            add_skip_corrupt(app, arguments->skip_corrupt);
            add_limit(app, arguments->limit);
            add_threads(app, arguments->threads);
            add_display(app, arguments->display);
            return [arguments](const CommandContext& context) {
              return with_pager([&] { return show(context, *arguments); });
            };
          }};
}

}  // namespace recordpipe
