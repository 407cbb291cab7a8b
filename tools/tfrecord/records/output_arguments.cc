#include "tools/tfrecord/records/output_arguments.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/format_names.h"
#include "recordpipe/base/error.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/command_line/shown_word.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr char kRoundRobin[] = "round-robin";

RecordOutputOptions options_of(const RecordOutputArguments& arguments) {
  RecordOutputOptions options = {
      .path = arguments.path,
      .compression = compression_for(arguments.path, arguments.compression),
      .fast = arguments.level == "fast",
      .shards = arguments.shards,
      .order = arguments.order == kRoundRobin ? ShardOrder::round_robin : ShardOrder::blocks,
      .max_bytes = arguments.max_bytes,
      .threads = arguments.threads,
      .splits = names_of({.parts = split_parts(arguments)})};
  if (!options.fast && !arguments.level.empty()) options.level = std::stoi(arguments.level);
  return options;
}

void check_level(const RecordOutputArguments& arguments) {
  if (arguments.level.empty()) return;
  const RecordOutputOptions options = options_of(arguments);
  if (options.compression == Compression::none) {
    throw UsageError("--level without a compression: give --compression, or -o NAME.gz");
  }
  try {
    check_level(options);
  } catch (const Error& error) {
    throw UsageError("--level: " + error.reason());
  }
}

}  // namespace

RecordOutputOptions record_output_options(const CommandContext& context,
                                          const RecordOutputArguments& arguments) {
  RecordOutputOptions options = options_of(arguments);
  options.open_stream = [&context, path = arguments.path] { return open_if_stream(context, path); };
  return options;
}

Option add_record_output(CommandApp& app, RecordOutputArguments& arguments,
                         std::function<bool(const CommandContext&)> may_replace_input) {
  const Option output = app.add_output(
      "-o,--output", arguments.path, "Output file (required); - is standard output",
      [&](const CommandContext& context) {
        return replaced_files(context.files, options_of(arguments));
      },
      std::move(may_replace_input));
  add_compression(app, arguments.compression);
  app.add_option(
         "--level", arguments.level,
         "Compression level: 0-9 for gzip and zlib (default 1), 1-22 for zstd (default 3), or "
         "\"fast\" (gzip through ISA-L)")
      .check([](const std::string& level) {
        const bool is_number = !level.empty() && level.size() <= 2 &&
                               level.find_first_not_of("0123456789") == std::string::npos;
        return is_number || level == "fast" ? "" : "a number or fast";
      })
      .type_name("LEVEL");
  app.add_option(
         "--shards", arguments.shards,
         "Split into N files with nearly equal numbers of records: FILE-00000-of-00064, ...")
      .check(whole_number(1, RecordOutputOptions::kMaxShards))
      .type_name("N");
  app.add_option(
         "--shards-by", arguments.order,
         "How --shards divides the records: blocks of consecutive records, which are counted "
         "first, or round-robin (default: blocks)")
      .one_of({"blocks", kRoundRobin});
  app.add_option("--max-bytes", arguments.max_bytes,
                 "Start a new file before BYTES (uncompressed) would be exceeded")
      .transform(byte_size())
      .type_name("BYTES");
  add_threads(app, arguments.threads);
  return output;
}

void check_record_output(const RecordOutputArguments& arguments) {
  require_name_of_records(arguments.path);
  if (arguments.shards > 0 && arguments.max_bytes > 0) {
    throw UsageError("--shards and --max-bytes are two ways to split: give one of them");
  }
  if (arguments.shards == 0 && !arguments.order.empty()) {
    throw UsageError("--shards-by belongs to --shards");
  }
  try {
    check_split({.parts = split_parts(arguments)});
  } catch (const Error& error) {
    throw UsageError("--split: " + shown_word(error.reason()) +
                     (error.hint().empty() ? "" : "; " + error.hint()));
  }
  if ((arguments.many() || !arguments.split.empty()) && arguments.path == "-") {
    throw UsageError("standard output can't be split: give -o a name");
  }
  check_level(arguments);
}

std::vector<SplitPart> split_parts(const RecordOutputArguments& arguments) {
  std::vector<SplitPart> parts;
  for (const std::string& text : arguments.split) {
    const size_t equals = text.find('=');
    double fraction = 0;
    const char* const end = text.data() + text.size();
    if (equals == std::string::npos ||
        std::from_chars(text.data() + equals + 1, end, fraction).ptr != end) {
      throw UsageError(
          fmt::format("--split {}: should be NAME=FRACTION", printable(shown_word(text))));
    }
    parts.push_back({.name = text.substr(0, equals), .fraction = fraction});
  }
  return parts;
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

}  // namespace recordpipe
