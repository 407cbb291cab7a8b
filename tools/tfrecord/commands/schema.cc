// tfrecord schema: prints the records' features as text, JSON or code.
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/describe/survey.h"
#include "dataset/toolkit/jobs/shard_record.h"
#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/schema_inference.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr std::array<MessageKind, kMessageKinds> kKinds = {
    MessageKind::example, MessageKind::sequence_example, MessageKind::example_list,
    MessageKind::event, MessageKind::unknown};

struct SchemaArguments {
  InputArguments inputs = {};
  std::string output = "-";
  FilterArguments filter = {};
  size_t threads = 0;
  bool skip_corrupt = false;
  bool json = false;
  bool cpp = false;
  bool python = false;
  bool tensorflow = false;
};

std::string as_json(const InferredSchema& schema) {
  nlohmann::ordered_json json = {{"records", schema.records},
                                 {"kinds", nlohmann::ordered_json::object()}};
  for (const MessageKind kind : kKinds) {
    if (schema.count(kind) > 0) json["kinds"][to_string(kind)] = schema.count(kind);
  }
  json["kind"] = kind_text(schema);
  json["features"] = features_json(schema);
  if (!schema.feature_lists.empty()) json["feature_lists"] = feature_lists_json(schema);
  if (schema.left_out > 0) json["left_out"] = schema.left_out;
  add_undecided(schema.undecided, json);
  add_skipped(schema.skipped, json);
  return json_line(json);
}

std::string as_text(const InferredSchema& schema) {
  std::string out = fmt::format("{}: {}\n", counted(schema.records, "record"), kind_text(schema));
  if (!schema.kind()) {
    for (const MessageKind kind : kKinds) {
      if (schema.count(kind) == 0) continue;
      out += fmt::format("  {} {}\n", grouped(schema.count(kind)), to_string(kind));
    }
  }
  out += features_text(schema, "  ");
  if (schema.left_out > 0) {
    out += fmt::format("  and features of other names, {} in all, which were not kept\n",
                       grouped(schema.left_out));
  }
  return out + undecided_text(schema.undecided, "  ");
}

// "2 Example, 1 Event"
std::string kinds_text(const InferredSchema& schema) {
  std::string text;
  for (const MessageKind kind : kKinds) {
    if (schema.count(kind) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(schema.count(kind)),
                        to_string(kind));
  }
  return text;
}

// Code can be generated only for records of one kind, and only if this kind has features.
void require_decodable(const InferredSchema& schema) {
  if (schema.records == 0) return;
  const auto kind = schema.kind();
  if (kind == MessageKind::example || kind == MessageKind::sequence_example) return;
  throw Error(
      {.kind = ErrorKind::unsupported,
       .reason = fmt::format("no code can be generated for {}: {}",
                             !kind                                ? "records of several kinds"
                             : *kind == MessageKind::example_list ? "lists of Examples"
                                                                  : "records without features",
                             kinds_text(schema)),
       .hint = kind ? "tfrecord show --json prints what is in them"
                    : "code is for Examples alone or SequenceExamples alone: give files of one "
                      "kind, or take them apart by their features with tfrecord convert --where"});
}

ExitCode print_schema(const CommandContext& context, const SchemaArguments& arguments) {
  const bool code = arguments.cpp || arguments.python || arguments.tensorflow;
  if (int{arguments.json} + int{arguments.cpp} + int{arguments.python} + int{arguments.tensorflow} >
      1) {
    throw UsageError("--json, --cpp, --python and --tensorflow exclude each other");
  }
  SurveyOptions options = {.input = input_reading(arguments.inputs.reading, arguments.skip_corrupt),
                           .filter = filter_of(arguments.filter),
                           .threads = arguments.threads};
  const auto paths = arguments.inputs.files.paths(context);
  InputProgress progress(context, "look", paths);
  SkippedDamage skipped(context, "schema");
  options.input.damaged = skipped.sink();
  const InferredSchema schema =
      infer_schema(work_of(context, progress, "schema"), paths, std::move(options));
  context.progress.clear();
  skipped.sum_up();
  if (code) require_decodable(schema);
  Output output(context, arguments.output);
  output.write(arguments.json     ? as_json(schema)
               : arguments.cpp    ? schema_as_cpp(schema)
               : arguments.python ? schema_as_python(schema)
               : code             ? schema_as_tensorflow(schema)
                                  : as_text(schema));
  output.close();
  return ExitCode::ok;
}

constexpr char kSchemaDescription[] =
    R"(Reads every record of all files, and checks every CRC. For each feature it prints the kind of
its values, the number of values in a record that has the feature, and the share of the Examples and
SequenceExamples that have it, also with an empty list. For a feature list, the number of values is
that of a step.

--json prints one object: {"records", "kinds": {KIND: records}, "kind", "features": {NAME: {"kind":
"bytes", "float", "int64", "mixed" or "none", "values", "share"}}, "feature_lists": {NAME: {...,
"steps"}}}. "values" and "steps" are a number, or {"min", "max"} where it varies.

--cpp prints an ExampleSchema for parse_example.h, --python a dict for parse() of the Python package,
--tensorflow a dict for tf.io.parse_example (or, where there are feature lists, what their
counterparts for SequenceExamples take): a feature that every record has with as many values is
fixed, any other is ragged. Records of several kinds, or without features (Events, say), are an
error.

Damage is an error, because the records after it are unknown: with --skip-corrupt, the schema is that
of the intact records, and --json says how many regions and bytes were skipped. At most 20,000 names are kept, of at most 4 MiB together; occurrences of features with
other names are counted (in --json as "left_out"). Text shows the first 100 bytes of a long name.)";

constexpr char kSchemaExamples[] =
    R"(  tfrecord schema train.tfrecords
  tfrecord schema 'train-*' --python > features.py)";

}  // namespace

Command schema_command() {
  return {.name = "schema",
          .summary = "Says which features records have, also as code that reads them",
          .description = kSchemaDescription,
          .examples = kSchemaExamples,
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<SchemaArguments>();
            add_inputs(app, arguments->inputs);
            add_output(app, arguments->output, json_or_text(arguments->json));
            add_filter(app, arguments->filter);
            add_threads(app, arguments->threads);
            add_skip_corrupt(app, arguments->skip_corrupt);
            app.add_flag("--json", arguments->json, "Print one JSON object");
            app.add_flag("--cpp", arguments->cpp, "Print C++ for recordpipe's decoder");
            app.add_flag("--python", arguments->python, "Print Python for recordpipe's parse()");
            app.add_flag("--tensorflow", arguments->tensorflow,
                         "Print Python for tf.io.parse_example");
            return [arguments](const CommandContext& context) {
              return print_schema(context, *arguments);
            };
          }};
}

}  // namespace recordpipe
