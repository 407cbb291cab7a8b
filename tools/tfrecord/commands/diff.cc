// tfrecord diff: compares the records of two sets of files, in order.
#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/base/available_cpus.h"
#include "dataset/toolkit/files/input_records.h"
#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/message_diff.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct DiffArguments {
  std::string a = {};
  std::string b = {};
  std::string output = "-";
  RecordReadOptions reading = {};
  std::optional<MessageKind> kind = {};
  std::string where = {};
  std::optional<uint64_t> limit = {};
  bool recursive = false;
  double tolerance = 0;
  uint64_t differences = 20;
  size_t threads = 0;
  bool skip_corrupt = false;
  bool json = false;
};

// Splits one side of the comparison: a file, or several files separated by commas. Commas in braces
// separate none.
std::vector<std::string> parts_of(FileSystem& files, const std::string& given) {
  const bool is_list = given.find(',') != given.npos;
  if (!is_list || files.status(given)) return {given};
  std::vector<std::string> parts(1);
  size_t level = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    const char c = given[i];
    if (c == ',' && level == 0) {
      parts.emplace_back();
      continue;
    }
    // An open brace without its end is a character.
    if (c == '{' && given.find('}', i) != given.npos) ++level;
    if (c == '}' && level > 0) --level;
    parts.back() += c;
  }
  return parts;
}

FilesAndFolders files_of(const CommandContext& context, const std::string& given,
                         const DiffArguments& arguments) {
  const auto parts = parts_of(context.files, given);
  if (std::ranges::count_if(parts, is_standard_input) > 1) {
    throw UsageError("standard input can be read once only");
  }
  return expand_inputs(context, parts, {.recursive = arguments.recursive});
}

class Diff {
 public:
  Diff(const CommandContext& context, const DiffArguments& arguments,
       const std::vector<std::string>& a, const std::vector<std::string>& b)
      : context_(context),
        arguments_(arguments),
        progress_(context, "diff", both(a, b)),
        work_(work_of(context, progress_)),
        skipped_(context, "diff"),
        input_a_(reading_of(a)),
        input_b_(reading_of(b)),
        // Each side reads files ahead on half of the threads.
        a_(work_, input_a_, thread_count(arguments.threads) / 2),
        b_(work_, input_b_, thread_count(arguments.threads) / 2),
        output_(context, arguments.output),
        where_(where_of(arguments.where)),
        selected_(arguments.kind),
        message_a_(arguments.kind),
        message_b_(arguments.kind) {}

  // Returns whether both sides are equal.
  bool run() {
    while (true) {
      const auto a = next(a_, numbers_a_, records_a_);
      const auto b = next(b_, numbers_b_, records_b_);
      if (!a || !b) break;
      compare(*a, *b);
    }
    while (next(a_, numbers_a_, records_a_)) continue;
    while (next(b_, numbers_b_, records_b_)) continue;
    const bool looked_at_all =
        !arguments_.limit || std::max(records_a_, records_b_) < *arguments_.limit;
    if (where_) print_note(context_, "diff", where_->require_possible(looked_at_all));
    const bool same = different_records_ == 0 && records_a_ == records_b_;
    write_summary(same);
    context_.progress.clear();
    skipped_.sum_up();
    output_.close();
    return same;
  }

 private:
  InputReading reading_of(const std::vector<std::string>& paths) {
    InputReading input = input_reading(arguments_.reading, arguments_.skip_corrupt);
    input.paths = paths;
    input.damaged = skipped_.sink();
    return input;
  }

  static std::vector<std::string> both(std::vector<std::string> a,
                                       const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  // Returns the next selected record of a side, and counts it in `records`.
  std::optional<Record> next(InputRecords& side, RecordNumbers& numbers, uint64_t& records) {
    if (records == arguments_.limit) return std::nullopt;
    while (const auto record = side.next()) {
      if (where_) {
        selected_.read(record->data);
        if (!where_->matches(selected_, numbers.numbered(*record))) continue;
      }
      ++records;
      return record;
    }
    return std::nullopt;
  }

  void compare(const Record& a, const Record& b) {
    if (std::ranges::equal(a.data, b.data)) return;
    message_a_.read(a.data);
    message_b_.read(b.data);
    const auto differences =
        compare_records({a.data, message_a_}, {b.data, message_b_}, arguments_.tolerance);
    if (differences.empty()) return;
    ++different_records_;
    for (const FeatureDifference& difference : differences) {
      if (differences_++ < arguments_.differences) write(difference);
    }
  }

  void write(const FeatureDifference& difference) {
    const uint64_t record = records_a_ - 1;
    if (arguments_.json) {
      nlohmann::ordered_json json = {{"record", record}};
      if (!difference.feature.empty()) json["feature"] = difference.feature;
      json["difference"] = difference.what;
      if (!difference.a.empty()) json["a"] = difference.a;
      if (!difference.b.empty()) json["b"] = difference.b;
      if (difference.first_byte) json["first_byte"] = *difference.first_byte;
      write_json(json);
      return;
    }
    std::string text = fmt::format("record {}: ", record);
    if (!difference.feature.empty()) text += printable(difference.feature) + ": ";
    if (difference.what.starts_with("only")) {
      text += difference.what + ": " + (difference.a.empty() ? difference.b : difference.a);
    } else {
      text += difference.a + " in A, " + difference.b + " in B";
      if (difference.first_byte) {
        text += fmt::format(", different from byte {} on", grouped(*difference.first_byte));
      }
    }
    output_.write(text + "\n");
  }

  void write_summary(bool same) {
    if (arguments_.json) {
      nlohmann::ordered_json json = {{"same", same},
                                     {"records_a", records_a_},
                                     {"records_b", records_b_},
                                     {"records_different", different_records_},
                                     {"differences", differences_}};
      if (arguments_.skip_corrupt) skipped_.add_to(json);
      return write_json(json);
    }
    if (differences_ > arguments_.differences) {
      output_.write(
          fmt::format("... and {} more\n", grouped(differences_ - arguments_.differences)));
    }
    if (records_a_ != records_b_) {
      output_.write(
          fmt::format("A has {}, B has {}\n", counted(records_a_, "record"), grouped(records_b_)));
    }
    const uint64_t both = std::min(records_a_, records_b_);
    if (same) {
      output_.write(fmt::format("the same {}\n", counted(both, "record")));
    } else if (different_records_ > 0) {
      output_.write(
          fmt::format("{} of {} differ\n", grouped(different_records_), counted(both, "record")));
    }
  }

  void write_json(const nlohmann::ordered_json& json) { output_.write(json_line(json)); }

  const CommandContext& context_;
  const DiffArguments& arguments_;
  InputProgress progress_;
  const FileWork work_;
  SkippedDamage skipped_;  // of both sides
  const InputReading input_a_;
  const InputReading input_b_;
  InputRecords a_;
  InputRecords b_;
  Output output_;
  std::optional<Where> where_;
  MessageView selected_;
  MessageView message_a_;
  MessageView message_b_;
  RecordNumbers numbers_a_;
  RecordNumbers numbers_b_;
  uint64_t records_a_ = 0;
  uint64_t records_b_ = 0;
  uint64_t different_records_ = 0;
  uint64_t differences_ = 0;
};

ExitCode diff(const CommandContext& context, const DiffArguments& arguments) {
  const FilesAndFolders found_a = files_of(context, arguments.a, arguments);
  const FilesAndFolders found_b = files_of(context, arguments.b, arguments);
  const std::vector<std::string>& a = found_a.files;
  const std::vector<std::string>& b = found_b.files;
  note_left_out(context, found_a);
  if (left_out_note(found_b) != left_out_note(found_a)) note_left_out(context, found_b);
  if (std::ranges::any_of(a, is_standard_input) && std::ranges::any_of(b, is_standard_input)) {
    throw UsageError("standard input can be read once only");
  }
  const bool same = Diff(context, arguments, a, b).run();
  return same ? ExitCode::ok : ExitCode::no;
}

CommandAction define_diff(CommandApp& app) {
  const auto arguments = std::make_shared<DiffArguments>();
  const char* const what =
      "A file, folder, pattern or URL, or several separated by commas; - is standard input";
  const auto paths = [&given = *arguments](const std::string& side) {
    return [&given, &side](const CommandContext& context) {
      return files_of(context, side, given).files;
    };
  };
  app.add_input("A", arguments->a, what, paths(arguments->a)).required().type_name("FILE");
  app.add_input("B", arguments->b, what, paths(arguments->b)).required().type_name("FILE");
  add_recursive(app, arguments->recursive);
  add_reading_options(app, arguments->reading);
  add_output(app, arguments->output, json_or_text(arguments->json));
  app.add_option("--tolerance", arguments->tolerance,
                 "Maximum difference of numbers that count as equal")
      .check(number_between(0, std::numeric_limits<float>::max()))
      .type_name("X");
  add_kind(app, arguments->kind);
  add_where(app, arguments->where);
  add_limit(app, arguments->limit);
  app.add_option("--differences", arguments->differences, "Show the first K differences")
      .check(whole_number())
      .type_name("K")
      .show_default();
  add_threads(app, arguments->threads);
  add_skip_corrupt(app, arguments->skip_corrupt);
  app.add_flag("--json", arguments->json,
               "Print a JSON object for each difference, and one for the result");
  return [arguments](const CommandContext& context) { return diff(context, *arguments); };
}

}  // namespace

Command diff_command() {
  return {
      .name = "diff",
      .summary = "Tells where two sets of files differ",
      .description =
          R"(Compares the records of A with those of B, one by one and feature by feature: kinds, numbers of
values, values. Not compared: the order of a record's features, packed and unpacked lists,
compression, and the division of records into files. Records that have anything else than features
(other types of messages, unknown fields) are compared by their bytes. Memory: 64 MiB, and the largest record of each side.

--json prints {"record": N, "feature": NAME, "difference": "only in A", "only in B", "kind",
"count", "values" or "bytes", "a": ..., "b": ...} for each difference shown. a and b are the first
values as text. For bytes that are not short text, they are the numbers of bytes, and "first_byte"
is the position (from 0) of the first different byte. The last object is {"same", "records_a",
"records_b", "records_different", "differences"}, with --skip-corrupt also "regions_skipped" and
"bytes_skipped", of both sides.

--where and --limit select records of each side; "record" is the number among the selected ones.

Each argument is a side, so there is no --files-from: join a list of paths by commas.)",
      .examples = R"sh(  tfrecord diff old.tfrecords new.tfrecords.gz
  tfrecord diff all.tfrecords 'shard-*'
  tfrecord diff a1.tfrecords,a2.tfrecords b.tfrecords --tolerance 1e-6
  tfrecord diff "$(paste -sd, a.list)" "$(paste -sd, b.list)")sh",
      .answers_no = "A and B differ",
      .define = define_diff};
}

}  // namespace recordpipe
