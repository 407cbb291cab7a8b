// tfrecord show: prints records as JSON, as text or unchanged.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "dataset/base/available_cpus.h"
#include "dataset/toolkit/selection/record_pass.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/url_path.h"
#include "recordpipe/record_format.h"
#include "recordpipe/record_writer.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/record_json.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/record_cursor.h"
#include "tools/tfrecord/text/record_text.h"

namespace recordpipe {
namespace {

struct Arguments {
  InputArguments inputs = {};
  std::string output = "-";
  std::string format = {};
  bool json = false;
  bool framed = false;
  std::optional<uint64_t> record = {};
  std::string range = {};
  std::vector<std::string> features = {};
  std::string where = {};
  std::optional<uint64_t> limit = {};
  size_t threads = 0;
};

enum class Format { json, text, raw, framed };

Format chosen_format(const Arguments& arguments) {
  if (arguments.framed) {
    if (arguments.format != "raw") throw UsageError("--framed is for --format raw");
    return Format::framed;
  }
  if (arguments.json && !arguments.format.empty() && arguments.format != "json") {
    throw UsageError("--json and --format " + arguments.format + " contradict each other");
  }
  if (arguments.json || arguments.format == "json") return Format::json;
  return arguments.format == "raw" ? Format::raw : Format::text;
}

// Parses "A:B"; A and B may be omitted.
RecordRange parse_range(std::string_view text) {
  const size_t colon = text.find(':');
  const auto number = [&](std::string_view digits, uint64_t otherwise) {
    if (digits.empty()) return otherwise;
    uint64_t value = 0;
    const char* const last = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), last, value);
    if (read.ptr == last && read.ec == std::errc() && value <= INT64_MAX) return value;
    throw UsageError(
        fmt::format("invalid --range '{}': expected FIRST:END, numbers from 0 to {}, as in "
                    "100:200",
                    text, INT64_MAX));
  };
  const std::string_view end = colon == text.npos ? "no colon" : text.substr(colon + 1);
  return {.first = number(text.substr(0, colon), 0), .end = number(end, UINT64_MAX)};
}

RecordRange chosen_range(const Arguments& arguments) {
  if (arguments.record && !arguments.range.empty()) {
    throw UsageError("--record and --range can't go together");
  }
  if (arguments.record) return {.first = *arguments.record, .end = *arguments.record + 1};
  return arguments.range.empty() ? RecordRange() : parse_range(arguments.range);
}

// The text of printed records, and the end of each record in the text.
struct Printed {
  std::string text;
  std::vector<size_t> ends;
  FeatureNames found;  // names of --feature in all records read, selected or not
};

class Show {
 public:
  Show(const CommandContext& context, const Arguments& arguments)
      : context_(context),
        arguments_(arguments),
        format_(chosen_format(arguments)),
        range_(chosen_range(arguments)),
        features_(arguments.features.begin(), arguments.features.end()),
        reads_messages_(format_ == Format::json || format_ == Format::text ||
                        !arguments.where.empty() || !arguments.features.empty()),
        left_(arguments.limit.value_or(UINT64_MAX)),
        output_(context, arguments.output) {
    if (arguments.output == "-" && ::isatty(STDOUT_FILENO) != 0) context.progress.hide();
    where_ = where_of(arguments.where);
  }

  ExitCode run() {
    const auto paths = expand_inputs(context_.files, arguments_.inputs.files);
    InputProgress progress = range_.all() ? InputProgress(context_, "show", paths)
                                          : InputProgress(context_, "show", std::nullopt);
    for (const std::string& path : paths) {
      if (left_ == 0) break;
      show_file(path, progress, paths.size() > 1 ? without_secrets(path) : "");
    }
    // Unread records may have features that the records read so far lack.
    const bool looked_at_all = left_ > 0 && range_.all();
    if (where_) where_->require_possible(looked_at_all);
    if (any_) require_found(features_, found_, present_.all(), looked_at_all);
    output_.close();
    const bool selects = where_ || !arguments_.range.empty();
    return selects && !any_ ? ExitCode::no : ExitCode::ok;
  }

 private:
  void show_file(const std::string& path, InputProgress& progress, const std::string& shown) {
    RecordCursor cursor(context_, path, arguments_.inputs.reading, range_, progress);
    const uint64_t first = cursor.next();
    pass_over_records<Printed>(
        [&] { return read(cursor); }, first, thread_count(arguments_.threads),
        [&](const RecordBlock& block) { return print_block(block, shown); },
        [&](const Printed& printed) { return write(printed); },
        [&](uint64_t number, const Record& record) { return write_large(number, record, shown); },
        {.growth = 2});
    if (arguments_.record && cursor.next() <= *arguments_.record) {
      throw Error(
          {.kind = ErrorKind::not_found,
           .path = path,
           .reason = fmt::format("no record {}: it has {}", *arguments_.record, cursor.next())});
    }
  }

  std::optional<Record> read(RecordCursor& cursor) {
    auto record = cursor.read();
    if (record && !features_.empty() && !present_.is_full()) {
      message_.read(record->data);
      present_.add(message_);
    }
    return record;
  }

  // Returns whether the message is selected; if it is, keeps only the requested features.
  bool wanted(MessageView& message, FeatureNames& found) const {
    find_names(message, features_, found);
    if (where_ && !where_->matches(message)) return false;
    keep_features(message, features_);
    return true;
  }

  Printed print_block(const RecordBlock& block, std::string_view path) const {
    MessageView message;
    JsonText json;
    Printed printed;
    for (size_t i = 0; i < block.size(); ++i) {
      const Record record = block[i];
      if (reads_messages_) message.read(record.data);
      if (!wanted(message, printed.found)) continue;
      const ShownRecord shown = {
          .path = path, .number = block.first() + i, .record = record, .message = message};
      if (format_ == Format::json) {
        append_record_json(shown, json);
        printed.ends.push_back(json.text().size());
        continue;
      }
      append(shown, printed.text);
      printed.ends.push_back(printed.text.size());
    }
    if (format_ == Format::json) printed.text = json.take();
    return printed;
  }

  // Appends a record in any format but JSON.
  void append(const ShownRecord& shown, std::string& out) const {
    if (format_ == Format::text) {
      out += record_text(shown);
    } else if (format_ == Format::framed) {
      append_framed(shown.record.data, out);
    } else {
      out.append(reinterpret_cast<const char*>(shown.record.data.data()), shown.record.data.size());
    }
  }

  // Returns whether more records are wanted.
  bool write(const Printed& printed) {
    std::string_view text = printed.text;
    if (left_ < printed.ends.size()) text = text.substr(0, printed.ends[left_ - 1]);
    left_ -= std::min<uint64_t>(left_, printed.ends.size());
    any_ = any_ || !printed.ends.empty();
    found_.insert(printed.found.begin(), printed.found.end());
    output_.write(text);
    return left_ > 0;
  }

  bool write_large(uint64_t number, const Record& record, std::string_view path) {
    MessageView message;
    message.read(record.data);
    if (!wanted(message, found_)) return true;
    const ShownRecord shown = {
        .path = path, .number = number, .record = record, .message = message};
    if (format_ == Format::json) {
      JsonText json([&](std::string_view piece) { output_.write(piece); });
      append_record_json(shown, json);
      output_.write(json.text());
    } else if (format_ == Format::raw) {
      output_.write(record.data);
    } else if (format_ == Format::framed) {
      output_.write(encode_record_header(record.data.size()));
      output_.write(record.data);
      output_.write(encode_record_footer(record.data));
    } else {
      std::string text;
      append(shown, text);
      output_.write(text);
    }
    any_ = true;
    return --left_ > 0;
  }

  const CommandContext& context_;
  const Arguments& arguments_;
  const Format format_;
  const RecordRange range_;
  const FeatureNames features_;
  std::optional<Where> where_;
  const bool reads_messages_;
  uint64_t left_;
  bool any_ = false;    // whether any record was shown
  FeatureNames found_;  // names of --feature that occurred
  FirstNames present_;
  MessageView message_;  // used on the reading thread
  Output output_;
};

constexpr char kDescription[] =
    R"(Text shows what is in a record at a glance: the first values of each feature, bytes by what they
are (text, PNG, JPEG, or the first of them in hexadecimal). Raw is a record's data, or the record
with its framing.

--json prints one object a line: {"record": N, "offset": B, "features": {NAME: [values]}}, with
"path" where several files are given. Names are sorted. Floats have a point or an exponent; NaN,
Infinity and -Infinity are written as Python's json module does. Bytes are {"base64": "..."} unless
they are text: valid UTF-8 without control characters other than tab, newline and carriage return.
Features whose list is empty have their kind in "kinds": {NAME: "bytes", "float" or "int64"}. A
SequenceExample's "features" are its context's, beside "feature_lists": {NAME: [[values of a step],
...]}, where a step without a list is null; kinds of empty steps are in "step_kinds". An Event of TensorBoard is {"record", "offset", "event":
{"wall_time", "step", "summary": [{"tag", "value"}]}}; any other record {"record", "offset",
"payload"}, which is text or base64 as above.

Records are numbered from 0 in each file. --record and --range of a plain file read no record before
the first they want: they go by FILE.idx where it is there and fits, else from header to header.

--where takes comparisons (== != < <= > >=, in [...], not in [...]) of features with numbers and
strings, and, or, not, parentheses, len(NAME) and has(NAME). A comparison holds if some value of the
feature satisfies it; a feature that is missing satisfies none. Names that aren't made of letters,
digits, _ / . : and - stand in backticks. Where nothing is selected because no record has a feature
that is compared, or only with values of another type, that is an error; has(NAME) may ask for what
isn't there.)";

constexpr char kExamples[] =
    R"(  tfrecord show train.tfrecords --limit 3
  tfrecord show train.tfrecords --record 41 --json
  tfrecord show 'train-*' --where 'label == 3 and len(box) > 0' --feature label
  tfrecord show train.tfrecords --range 100:200 --json | jq '.features.label[0]')";

}  // namespace

Command show_command() {
  return {.name = "show",
          .summary = "Prints records as text, JSON or raw bytes",
          .description = kDescription,
          .examples = kExamples,
          .answers_no = "--where or --range selects no record",
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<Arguments>();
            add_inputs(app, arguments->inputs);
            add_output(app, arguments->output);
            app.add_option("--format", arguments->format,
                           "How records are printed; text unless given")
                .one_of({"json", "text", "raw"});
            app.add_flag("--json", arguments->json, "The same as --format json");
            app.add_flag("--framed", arguments->framed, "With --format raw: whole records");
            app.add_option("--record", arguments->record, "Only record N of each file, from 0")
                .check(whole_number(0, INT64_MAX))
                .type_name("N");
            app.add_option("--range", arguments->range,
                           "Only records FIRST to END - 1 of each file; either may be left out")
                .type_name("FIRST:END");
            add_features(app, arguments->features, "Only these features");
            add_where(app, arguments->where);
            add_limit(app, arguments->limit);
            add_threads(app, arguments->threads);
            return [arguments](const CommandContext& context) {
              Show show(context, *arguments);
              return show.run();
            };
          }};
}

}  // namespace recordpipe
