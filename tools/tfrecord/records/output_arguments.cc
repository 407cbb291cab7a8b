#include "tools/tfrecord/records/output_arguments.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/format_names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/io/standard_streams.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr char kRoundRobin[] = "round-robin";

void check_level_option(const RecordOutputOptions& options) {
  const bool is_given = options.level || options.fast;
  if (is_given && compression_for(options.path, options.compression) == Compression::none) {
    throw UsageError(options.path.empty()  // with --to-dir
                         ? "--level with --to-dir: give --compression, too"
                         : "--level without a compression: give --compression, or -o NAME.gz");
  }
  try {
    check_level(options);
  } catch (const Error& error) {
    throw UsageError("--level: " + error.reason());
  }
}

// "4 files, out-00000-of-00004 to out-00003-of-00004"
std::string describe_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return "no file";
  if (paths.size() == 1) return printable(paths.front());
  return fmt::format("{}, {} to {}", counted(paths.size(), "file"), printable(paths.front()),
                     printable(paths.back()));
}

}  // namespace

RecordOutputOptions options_of(const RecordOutputArguments& arguments) {
  RecordOutputOptions options = arguments.options;
  for (const std::string& text : arguments.parts) {
    const size_t equals = text.find('=');
    double fraction = 0;
    const char* const end = text.data() + text.size();
    if (equals == std::string::npos ||
        std::from_chars(text.data() + equals + 1, end, fraction).ptr != end) {
      throw UsageError(
          fmt::format("--split {}: should be NAME=FRACTION", printable(shown_word(text))));
    }
    options.split.parts.push_back({.name = text.substr(0, equals), .fraction = fraction});
  }
  return options;
}

RecordOutputOptions record_output_options(const CommandContext& context,
                                          const RecordOutputArguments& arguments) {
  RecordOutputOptions options = options_of(arguments);
  options.open_stream = [&context, path = options.path] { return open_if_stream(context, path); };
  return options;
}

Option add_record_output(CommandApp& app, RecordOutputArguments& arguments,
                         std::function<bool(const CommandContext&)> may_replace_input) {
  RecordOutputOptions& options = arguments.options;
  const Option output = app.add_output(
      "-o,--output", options.path, "Output file (required); - is standard output",
      [&](const CommandContext& context) {
        return replaced_files(context.files, options_of(arguments));
      },
      std::move(may_replace_input));
  add_compression(app, options.compression);
  app.add_option_function(
         "--level",
         [&options](const std::string& level) {
           options.fast = level == "fast";
           if (!options.fast) options.level = std::stoi(level);
         },
         "Compression level: 0-9 for gzip and zlib (default 1), 1-22 for zstd (default 3), or "
         "\"fast\" (gzip through ISA-L)")
      .check([](const std::string& level) {
        const bool is_number = !level.empty() && level.size() <= 2 &&
                               level.find_first_not_of("0123456789") == std::string::npos;
        return is_number || level == "fast" ? "" : "a number or fast";
      })
      .type_name("LEVEL");
  app.add_option(
         "--shards", options.shards,
         "Split into N files with nearly equal numbers of records: FILE-00000-of-00064, ...")
      .check(whole_number(1, RecordOutputOptions::kMaxShards))
      .type_name("N");
  app.add_option_function(
         "--shards-by",
         [&options](const std::string& order) {
           options.order = order == kRoundRobin ? ShardOrder::round_robin : ShardOrder::blocks;
         },
         "How --shards divides the records: blocks of consecutive records, which are counted "
         "first, or round-robin (default: blocks)")
      .one_of({"blocks", kRoundRobin});
  app.add_option("--max-bytes", options.max_bytes,
                 "Start a new file before BYTES (uncompressed) would be exceeded")
      .transform(byte_size())
      .type_name("BYTES");
  add_threads(app, options.threads);
  return output;
}

void check_record_output(const RecordOutputArguments& arguments) {
  const RecordOutputOptions options = options_of(arguments);
  require_name_of_records(options.path);
  if (options.shards > 0 && options.max_bytes > 0) {
    throw UsageError("--shards and --max-bytes are two ways to split: give one of them");
  }
  if (options.shards == 0 && options.order) throw UsageError("--shards-by belongs to --shards");
  try {
    check_split(options.split);
  } catch (const Error& error) {
    throw UsageError("--split: " + shown_word(error.reason()) +
                     (error.hint().empty() ? "" : "; " + error.hint()));
  }
  if ((options.many() || !options.split.parts.empty()) && options.path == "-") {
    throw UsageError("standard output can't be split: give -o a name");
  }
  check_level_option(options);
}

std::string describe(const std::vector<WrittenFile>& written) {
  uint64_t records = 0;
  uint64_t bytes = 0;
  for (const WrittenFile& file : written) {
    records += file.records;
    bytes += file.bytes;
  }
  return fmt::format(
      "wrote {}, {}, to {}", counted(records, "record"), byte_count(bytes),
      written.size() == 1 ? printable(written.front().path) : counted(written.size(), "file"));
}

nlohmann::ordered_json to_json(const std::vector<WrittenFile>& written) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const WrittenFile& file : written) {
    files.push_back({{"path", file.path}, {"records", file.records}, {"bytes", file.bytes}});
    if (!file.split.empty()) files.back()["split"] = file.split;
  }
  return files;
}

ExitCode print_plan(const CommandContext& context, const ConvertPlan& plan, bool json) {
  if (json) {
    nlohmann::ordered_json again = nlohmann::ordered_json::array();
    for (const std::string& path : plan.read_twice) again.push_back(without_secrets(path));
    const auto number = [](const std::optional<uint64_t>& known) {
      return known ? nlohmann::ordered_json(*known) : nlohmann::ordered_json();
    };
    print_json_summary(context, {{"inputs", plan.inputs},
                                 {"bytes", number(plan.bytes)},
                                 {"records", number(plan.records)},
                                 {"read_twice", again},
                                 {"outputs", plan.outputs}});
    return ExitCode::ok;
  }
  print_line(fmt::format(
      "would read {}, {}, {}", counted(plan.inputs, "file"),
      plan.bytes ? byte_count(*plan.bytes) : "of unknown size",
      plan.records ? counted(*plan.records, "record") : "an unknown number of records"));
  if (!plan.read_twice.empty()) {
    print_line(fmt::format(
        "{} of them twice, {}: {}{}", grouped(plan.read_twice.size()),
        plan.once_if_few ? "unless few records are selected" : "first to count records",
        shown_path(plan.read_twice.front()), plan.read_twice.size() > 1 ? ", ..." : ""));
  }
  print_line("would write " + describe_paths(plan.outputs));
  return ExitCode::ok;
}

}  // namespace recordpipe
