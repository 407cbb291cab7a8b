// tfrecord info: summarizes the content of a file.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/file_facts.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  InputArguments inputs = {};
  std::string output = "-";
  bool json = false;
};

FileFacts total_of(const std::vector<FileFacts>& files) {
  FileFacts total;
  for (const FileFacts& file : files) total.merge(file);
  return total;
}

Json sizes_json(const Distribution& sizes) {
  if (sizes.count() == 0) return nullptr;
  const double median = sizes.quantile(0.5);
  const bool whole = median == std::floor(median);
  Json json = {{"min", static_cast<uint64_t>(sizes.min())},
               {"median", whole ? Json(static_cast<uint64_t>(median)) : Json(median)},
               {"max", static_cast<uint64_t>(sizes.max())}};
  if (!sizes.exact()) json["median_is_approximate"] = true;
  return json;
}

// Adds the fields that a file and the total have in common. Unknown values are null.
void add_json(const FileFacts& facts, Json& json) {
  if (!facts.was_read) {
    for (const char* const name : {"records", "bytes", "content_bytes", "record_sizes", "kind",
                                   "features", "sampled_records"}) {
      json[name] = nullptr;
    }
    if (facts.bytes > 0) json["bytes"] = facts.bytes;
    return;
  }
  json["records"] = facts.records;
  json["bytes"] = facts.bytes;
  json["content_bytes"] = facts.content_bytes;
  json["record_sizes"] = sizes_json(facts.sizes);
  json["kind"] = kind_text(facts.sample);
  json["features"] = features_json(facts.sample);
  if (!facts.sample.feature_lists.empty()) {
    json["feature_lists"] = feature_lists_json(facts.sample);
  }
  json["sampled_records"] = facts.sample.records;
}

// Returns one line per file and, for several files, a line for the total.
std::string as_json(const std::vector<FileFacts>& files) {
  std::string lines;
  for (const FileFacts& file : files) {
    Json one;
    one["path"] = without_secrets(file.path);
    one["compression"] = file.compression ? Json(to_string(*file.compression)) : Json(nullptr);
    add_json(file, one);
    one["indexed"] = file.indexed;
    if (file.error) one["error"] = text_of(*file.error);
    lines += json_line(one);
  }
  if (files.size() == 1) return lines;
  Json total = {{"files", files.size()}};
  add_json(total_of(files), total);
  return lines + json_line(total);
}

std::string median_text(const Distribution& sizes) {
  return (sizes.exact() ? "" : "about ") +
         grouped(static_cast<uint64_t>(std::llround(sizes.quantile(0.5))));
}

std::string sizes_text(const Distribution& sizes) {
  if (sizes.count() == 0) return "no records";
  if (sizes.min() == sizes.max()) {
    return byte_count(static_cast<uint64_t>(sizes.min())) + (sizes.count() == 1 ? "" : " each");
  }
  return fmt::format("{} to {}, median {} bytes", grouped(static_cast<uint64_t>(sizes.min())),
                     grouped(static_cast<uint64_t>(sizes.max())), median_text(sizes));
}

std::string compression_text(const FileFacts& facts) {
  return facts.compression ? std::string(to_string(*facts.compression)) : "?";
}

std::string details(const FileFacts& facts) {
  std::string out;
  const auto line = [&](std::string_view name, std::string_view value) {
    out += fmt::format("  {:<12} {}\n", name, value);
  };
  line("records", grouped(facts.records) + (facts.indexed        ? " (from its index)"
                                            : !facts.ended_early ? ""
                                                                 : " (before the damage)"));
  line("file", byte_count(facts.bytes));
  if (facts.compression && *facts.compression != Compression::none) {
    line("compression", compression_text(facts));
    line("inflated", byte_count(facts.content_bytes));
  } else if (facts.compression) {
    line("compression", "none");
  }
  line("record size", sizes_text(facts.sizes));
  line("kind", kind_text(facts.sample));
  if (!facts.sample.features.empty() || !facts.sample.feature_lists.empty()) {
    line("features", facts.sample.records < facts.records
                         ? (facts.sample.records == 1 ? "of the first record"
                                                      : fmt::format("of the first {} records",
                                                                    grouped(facts.sample.records)))
                         : "of all records");
    out += features_text(facts.sample, "    ");
  }
  return out;
}

std::string overview(const std::vector<FileFacts>& files) {
  TextTable table({Align::right, Align::right, Align::left, Align::right, Align::right,
                   Align::right, Align::left, Align::left});
  table.add({"records", "bytes", "compression", "min", "median", "max", "kind", "file"});
  for (const FileFacts& file : files) {
    const bool any = file.sizes.count() > 0;
    if (!file.was_read) {
      table.add({"?", file.bytes > 0 ? grouped(file.bytes) : "?", "?", "-", "-", "-", "?",
                 shown_path(file.path) + "  (failed)"});
      continue;
    }
    table.add({grouped(file.records), grouped(file.bytes), compression_text(file),
               any ? grouped(static_cast<uint64_t>(file.sizes.min())) : "-",
               any ? median_text(file.sizes) : "-",
               any ? grouped(static_cast<uint64_t>(file.sizes.max())) : "-",
               std::string(kind_text(file.sample)),
               shown_path(file.path) + (file.error ? "  (failed)" : "")});
  }
  FileFacts total = total_of(files);
  total.compression = std::nullopt;
  std::string out = table.text();
  out += fmt::format("\n{} files\n", grouped(files.size()));
  return out + details(total);
}

ExitCode run(const CommandContext& context, const Arguments& arguments) {
  std::vector<FileFacts> files;
  ExitCode status = ExitCode::ok;
  const auto paths = expand_inputs(context.files, arguments.inputs.files);
  InputProgress progress(context, "count", paths);
  const FileWork work = work_of(context, progress);
  for (const std::string& path : paths) {
    files.push_back(find_file_facts(work, path, arguments.inputs.reading));
    const auto& error = files.back().error;
    if (!error) continue;
    status = combined(status, answer_of(error->kind()));
    context.progress.warn("tfrecord info: " + text_of(*error));
  }
  context.progress.clear();
  Output output(context, arguments.output);
  if (arguments.json) {
    output.write(as_json(files));
  } else if (files.size() == 1) {
    if (files[0].was_read) output.write(shown_path(files[0].path) + "\n" + details(files[0]));
  } else {
    output.write(overview(files));
  }
  output.close();
  return status;
}

constexpr char kDescription[] =
    R"(Of a plain file only the records' headers are read, and not even those where FILE.idx is beside
it and fits. Data CRCs are checked in the sample only; "tfrecord verify" checks all of them.
Compressed files and standard input are read whole.

The kind of message and the features are those of the first 100 records, or the first MiB of them;
"tfrecord schema" looks into all. A kind is Example, SequenceExample, Event (of TensorBoard), unknown
or, where there are several, mixed. Sizes are those of the records' data, without the 16 bytes of
framing; their median is exact up to 65,536 different sizes, then within 0.4 %.

--json prints an object for each file: {"path", "records", "bytes", "content_bytes", "compression",
"record_sizes": {"min", "median", "max"}, "kind", "features": {NAME: {"kind", "values", "share"}},
"sampled_records", "indexed", "error"}. If several files are given, a last one has the same for all
of them together, and "files", how many they are, instead of "path". "values" is a number, or {"min", "max"} where it varies. Of a damaged file, what could be told
is there, with "error"; what isn't known is null.)";

constexpr char kExamples[] =
    R"(  tfrecord info train.tfrecords
  tfrecord info 'train-*' --json | tail -1 | jq .records)";

}  // namespace

Command info_command() {
  return {.name = "info",
          .summary = "Says what is in a file: records, bytes, sizes, kind, features",
          .description = kDescription,
          .examples = kExamples,
          .answers_no = "a file is damaged",
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<Arguments>();
            add_inputs(app, arguments->inputs);
            add_output(app, arguments->output);
            app.add_flag("--json", arguments->json, "Print a JSON object for each file");
            return [arguments](const CommandContext& context) { return run(context, *arguments); };
          }};
}

}  // namespace recordpipe
