// tfrecord info: summarizes the content of a file.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/file_facts.h"
#include "dataset/toolkit/files/many_files.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/display.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

using Json = nlohmann::ordered_json;

struct InfoArguments {
  InputArguments inputs = {};
  std::string output = "-";
  std::optional<MessageKind> kind = {};
  TableArguments table = {};
  DisplayArguments display = {};
};

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
  add_undecided(facts.sample.undecided, json);
  json["sampled_records"] = facts.sample.records;
}

std::string as_json(const FileFacts& file) {
  Json one;
  one["path"] = without_secrets(file.path);
  one["compression"] = file.compression ? Json(to_string(*file.compression)) : Json(nullptr);
  add_json(file, one);
  one["indexed"] = file.indexed;
  if (file.error) one["error"] = text_of(*file.error);
  return json_line(one);
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
  return out + undecided_text(facts.sample.undecided, "  ");
}

std::vector<std::string> table_row(const FileFacts& file) {
  const bool any = file.sizes.count() > 0;
  if (!file.was_read) {
    return {"?", file.bytes > 0 ? grouped(file.bytes) : "?", "?", "-", "-", "-",
            "?", shown_path(file.path) + "  (failed)"};
  }
  return {grouped(file.records),
          grouped(file.bytes),
          compression_text(file),
          any ? grouped(static_cast<uint64_t>(file.sizes.min())) : "-",
          any ? median_text(file.sizes) : "-",
          any ? grouped(static_cast<uint64_t>(file.sizes.max())) : "-",
          std::string(kind_text(file.sample)),
          shown_path(file.path) + (file.error ? "  (failed)" : "")};
}

// Cells of unknown values are empty.
std::vector<std::string> csv_row(const FileFacts& file) {
  const bool any = file.sizes.count() > 0;
  const auto known = [&](uint64_t value) {
    return file.was_read ? std::to_string(value) : std::string();
  };
  const auto size = [&](double value) { return any ? fmt::format("{}", value) : std::string(); };
  return {without_secrets(file.path),
          known(file.records),
          file.was_read || file.bytes > 0 ? std::to_string(file.bytes) : "",
          known(file.content_bytes),
          file.compression ? std::string(to_string(*file.compression)) : "",
          any ? size(file.sizes.min()) : "",
          any ? size(file.sizes.quantile(0.5)) : "",
          any ? size(file.sizes.max()) : "",
          file.was_read ? std::string(kind_text(file.sample)) : "",
          file.indexed ? "true" : "false",
          file.error ? text_of(*file.error) : ""};
}

// Of each file it keeps a row or a line: the distributions of sizes of thousands of files would
// take gigabytes.
class Report {
 public:
  explicit Report(TableFormat format) : format_(format), table_(columns_of(format)) {
    if (format_ == TableFormat::csv) {
      table_.add({"path", "records", "bytes", "content_bytes", "compression", "min", "median",
                  "max", "kind", "indexed", "error"});
    } else if (format_ == TableFormat::table) {
      table_.add({"records", "bytes", "compression", "min", "median", "max", "kind", "file"});
    }
  }

  void add(const FileFacts& file) {
    ++files_;
    if (file.error) ++(answer_of(file.error->kind()) == ExitCode::no ? damaged_ : unreadable_);
    total_.merge(file);
    if (format_ == TableFormat::json) {
      lines_ += as_json(file);
    } else if (format_ == TableFormat::csv) {
      table_.add(csv_row(file));
    } else {
      table_.add(table_row(file));
      if (files_ == 1 && file.was_read) single_ = shown_path(file.path) + "\n" + details(file);
    }
  }

  void write(Output& output) const {
    if (format_ == TableFormat::csv) return table_.write_csv(output);
    if (format_ == TableFormat::json) {
      output.write(lines_);
      if (files_ == 1) return;
      Json total = {{"files", files_}, {"damaged", damaged_}, {"unreadable", unreadable_}};
      add_json(total_, total);
      return output.write(json_line(total));
    }
    if (files_ == 1) return output.write(single_);
    std::string files = fmt::format("\n{} files", grouped(files_));
    if (damaged_ > 0) files += fmt::format(", {} damaged", grouped(damaged_));
    if (unreadable_ > 0) files += fmt::format(", {} unreadable", grouped(unreadable_));
    output.write(table_.text() + files + "\n" + details(total_));
  }

 private:
  static std::vector<Align> columns_of(TableFormat format) {
    if (format == TableFormat::csv) return std::vector<Align>(11, Align::left);
    return {Align::right, Align::right, Align::left, Align::right,
            Align::right, Align::right, Align::left, Align::left};
  }

  const TableFormat format_;
  uint64_t files_ = 0;
  uint64_t damaged_ = 0;
  uint64_t unreadable_ = 0;
  FileFacts total_ = {};
  TextTable table_;
  std::string lines_;   // of JSON
  std::string single_;  // the text if there is no other file
};

ExitCode print_info(const CommandContext& context, const InfoArguments& arguments) {
  const TableFormat format = table_format(arguments.table);
  Report report(format);
  ExitCode status = ExitCode::ok;
  const auto paths = arguments.inputs.files.paths(context);
  InputProgress progress(context, "count", paths);
  const FileWork work = work_of(context, progress);
  // Headers take little of any file: none is worth more than one thread.
  for_each_file<FileFacts>(
      work, paths, 0, turn_of_headers,
      [&](FileShare share) {
        return find_file_facts(work, paths[share.number], arguments.inputs.reading,
                               share.turn.status, arguments.kind);
      },
      [&](const FileFacts& facts) {
        if (facts.error) {
          status = combined(status, answer_of(facts.error->kind()));
          context.progress.warn("tfrecord info: " + text_of(*facts.error));
        }
        report.add(facts);
        return true;
      });
  context.progress.clear();
  const Display display(context, arguments.display, arguments.output);
  Output output(context, arguments.output);
  report.write(output);
  output.close();
  return status;
}

constexpr char kInfoDescription[] =
    R"(Of a plain file, only a sample of the records and the headers of all are read; if FILE.idx is
beside it and matches it, FILE.idx replaces the headers. Data CRCs are checked in the sample only;
"tfrecord verify" checks all of them. Compressed files and standard input are read whole.

The kind of message and the features are those of the sample: the first 100 records, or the first
MiB of them. "tfrecord schema" reads all records. A kind is Example, SequenceExample, Event (of
TensorBoard), unknown or, where there are several, mixed. Sizes are those of the records' data,
without the 16 bytes of framing; their median is exact up to 65,536 different sizes, then within
0.4 %.

--json prints an object for each file: {"path", "records", "bytes", "content_bytes", "compression",
"record_sizes": {"min", "median", "max"}, "kind", "features": {NAME: {"kind", "values", "share"}},
"sampled_records", "indexed", "error"}. With several files, a last object is for all of them
together: it has "files", their number, "damaged" and "unreadable", how many of them are so, instead
of "path". "values" is a number, or {"min", "max"} if it varies. For a damaged file, "error" is set,
and unknown values are null. --format csv prints a row for each file, with the columns path, records,
bytes, content_bytes, compression, min, median, max (of the records' sizes), kind, indexed and error,
and no total.)";

constexpr char kInfoExamples[] =
    R"(  tfrecord info train.tfrecords
  tfrecord info 'train-*' --json | tail -1 | jq .records)";

}  // namespace

Command info_command() {
  return {.name = "info",
          .summary = "Says what is in a file: records, bytes, sizes, kind, features",
          .description = kInfoDescription,
          .examples = kInfoExamples,
          .answers_no = "a file is damaged",
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<InfoArguments>();
            add_inputs(app, arguments->inputs);
            add_kind(app, arguments->kind);
            add_output(app, arguments->output, format_of(arguments->table));
            add_table_format(app, arguments->table, "Print a JSON object for each file");
            add_pager(app, arguments->display);
            return [arguments](const CommandContext& context) {
              return with_pager([&] { return print_info(context, *arguments); });
            };
          }};
}

}  // namespace recordpipe
