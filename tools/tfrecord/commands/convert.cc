// tfrecord convert: changes the compression, the number of files or the order of records, or
// selects records and features.
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/error.h"
#include "recordpipe/internal/url_path.h"
#include "recordpipe/stop.h"
#include "recordpipe/toolkit/external_shuffle.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/input_records.h"
#include "tools/tfrecord/records/record_output.h"
#include "tools/tfrecord/records/scan_file.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct ConvertArguments {
  InputArguments input = {};
  RecordOutputArguments output = {};
  bool shuffle = false;
  std::string temporary_directory = {};
  std::string where = {};
  std::optional<double> fraction = {};
  std::optional<uint64_t> sample_count = {};
  std::optional<uint64_t> limit = {};
  uint64_t seed = 0;
  std::vector<std::string> select = {};
  std::vector<std::string> drop = {};
  std::vector<std::string> rename = {};
  bool skip_corrupt = false;
  bool json = false;
};

// Returns nullopt, which keeps all features, if no feature was named.
std::optional<FeatureNames> selected(const std::vector<std::string>& names) {
  if (names.empty()) return std::nullopt;
  return FeatureNames(names.begin(), names.end());
}

FeatureEdit edit_of(const ConvertArguments& arguments) {
  FeatureEdit edit = {.select = selected(arguments.select),
                      .drop = {arguments.drop.begin(), arguments.drop.end()},
                      .rename = {}};
  for (const std::string& rename : arguments.rename) {
    const size_t equals = rename.find('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format("--rename {}: should be OLD=NEW", rename));
    }
    edit.rename.insert_or_assign(rename.substr(0, equals), rename.substr(equals + 1));
  }
  return edit;
}

RecordSelection selection_of(const ConvertArguments& arguments) {
  RecordSelection selection = {.fraction = arguments.fraction,
                               .seed = arguments.seed,
                               .limit = arguments.limit,
                               .edit = edit_of(arguments),
                               .threads = arguments.output.threads};
  selection.where = where_of(arguments.where);
  return selection;
}

// Whether every record and every feature of the inputs is written.
bool keeps_everything(const ConvertArguments& arguments) {
  return arguments.where.empty() && !arguments.fraction && !arguments.sample_count &&
         !arguments.limit && arguments.select.empty() && arguments.drop.empty() &&
         !arguments.skip_corrupt;
}

void check(const ConvertArguments& arguments) {
  check_record_output(arguments.output);
  if (arguments.fraction && arguments.sample_count) {
    throw UsageError("--sample and --sample-count are two ways to sample: give one of them");
  }
  check_json_summary(arguments.json, arguments.output.path);
  if (arguments.skip_corrupt && arguments.input.reading.crc == CrcCheck::never) {
    throw UsageError("--skip-corrupt and --no-crc contradict each other");
  }
}

// The regions skipped by --skip-corrupt.
struct Skipped {
  uint64_t regions = 0;
  uint64_t bytes = 0;
};

struct ConvertReport {
  std::vector<WrittenFile> files = {};
  Skipped skipped = {};
  // The number of records that were read, if --where matches none of them.
  std::optional<uint64_t> read_in_vain = {};
};

class Conversion {
 public:
  Conversion(const CommandContext& context, const ConvertArguments& arguments)
      : context_(context),
        arguments_(arguments),
        selection_(selection_of(arguments)),
        input_({.paths = expand_inputs(context.files, arguments.input.files),
                .reading = arguments.input.reading}) {
    if (!arguments.skip_corrupt) return;
    input_.on_damage = [this](const std::string& path, const DamagedRegion& region) {
      if (!counting_) skip(path, region);
    };
  }

  ConvertReport run() {
    ConvertReport report = written();
    report.read_in_vain = read_in_vain_;
    return report;
  }

 private:
  ConvertReport written() {
    if (arguments_.shuffle) return shuffled();
    if (arguments_.output.shards > 0 || arguments_.sample_count) return counted();
    RecordOutput output(context_, arguments_.output);
    select("convert", [&](RecordPieces record) { output.write(record); });
    return {output.close(), skipped_};
  }

  // Returns the number of selected records.
  uint64_t select(const std::string& activity, const std::function<void(RecordPieces)>& consume) {
    const SelectionReport report = select_inputs(context_, input_, selection_, activity, consume);
    if (report.taken > 0) {
      require_found(names_of(selection_), report.found, report.present, report.looked_at_all);
    }
    if (selection_.where && report.taken == 0) read_in_vain_ = report.read;
    return report.taken;
  }

  void skip(const std::string& path, const DamagedRegion& region) {
    context_.progress.warn("tfrecord convert: " + shown_path(path) + ": skipped " +
                           describe(region));
    skipped_.regions += 1;
    skipped_.bytes += region.size();
  }

  // The number of records must be known before the first one is written, so the inputs are read
  // twice.
  ConvertReport counted() {
    require_readable_twice(context_.files, input_.paths,
                           "--max-bytes instead of --shards, --sample instead of --sample-count, "
                           "or --shuffle");
    counting_ = true;
    const uint64_t total = select("count", [](RecordPieces) {});
    counting_ = false;
    context_.progress.clear();
    const uint64_t wanted = std::min(arguments_.sample_count.value_or(total), total);
    ExactSample sample(arguments_.seed, wanted, total);
    RecordOutput output(context_, arguments_.output, wanted);
    select("convert", [&](RecordPieces record) {
      if (sample.take_next()) output.write(record);
    });
    return {output.close(), skipped_};
  }

  ConvertReport shuffled() {
    const std::string& given = arguments_.temporary_directory;
    ExternalShuffle shuffle(
        {.directory = given.empty()
                          ? temporary_directory_for(context_.files, arguments_.output.path)
                          : given,
         .seed = arguments_.seed});
    select("shuffle", [&](RecordPieces record) { shuffle.add(record); });
    // The first records of a random order are also a random sample.
    const uint64_t wanted =
        std::min(arguments_.sample_count.value_or(shuffle.size()), shuffle.size());
    RecordOutput output(context_, arguments_.output, wanted);
    uint64_t written = 0;
    shuffle.drain([&](std::span<const std::byte> data) {
      if (written == wanted) return;
      if (written % kRecordsBetweenSigns == 0)
        throw_if_stopped(context_.stop, arguments_.output.path);
      output.write(data);
      ++written;
    });
    return {output.close(), skipped_};
  }

  static constexpr uint64_t kRecordsBetweenSigns = 256;

  const CommandContext& context_;
  const ConvertArguments& arguments_;
  RecordSelection selection_;
  InputReading input_;
  bool counting_ = false;  // counting pass: the next pass reports the skipped regions
  Skipped skipped_;
  std::optional<uint64_t> read_in_vain_;
};

ExitCode convert(const CommandContext& context, const ConvertArguments& arguments) {
  check(arguments);
  const ConvertReport report = Conversion(context, arguments).run();
  if (report.skipped.regions > 0) {
    context.progress.warn("tfrecord convert: skipped " +
                          describe_damage(report.skipped.regions, report.skipped.bytes));
  }
  if (arguments.json) {
    print_json_summary(context, {{"files", to_json(report.files)},
                                 {"regions_skipped", report.skipped.regions},
                                 {"bytes_skipped", report.skipped.bytes}});
  } else if (arguments.output.path != "-") {
    const std::string why =
        report.read_in_vain
            ? fmt::format("; --where matches none of {}", counted(*report.read_in_vain, "record"))
            : "";
    print_summary(context, describe(report.files) + why);
  }
  return ExitCode::ok;
}

CommandAction define(CommandApp& app) {
  const auto arguments = std::make_shared<ConvertArguments>();
  add_inputs(app, arguments->input);
  add_record_output(app, arguments->output,
                    [&given = *arguments] { return keeps_everything(given); });
  app.add_flag("--shuffle", arguments->shuffle,
               "Put the records into a random order, every one as likely; what doesn't fit into "
               "memory goes to temporary files");
  app.add_option("--tmp-dir", arguments->temporary_directory,
                 "Directory for temporary files (default: the output's directory)")
      .type_name("DIR");
  add_where(app, arguments->where);
  app.add_option("--sample", arguments->fraction, "Take each record with this probability")
      .check(number_between(0, 1))
      .type_name("FRACTION");
  app.add_option("--sample-count", arguments->sample_count, "Take so many records, drawn at random")
      .check(whole_number())
      .type_name("N");
  app.add_option("--seed", arguments->seed, "Random seed for --shuffle and --sample")
      .check(whole_number())
      .type_name("S")
      .show_default();
  add_limit(app, arguments->limit);
  add_features(app, arguments->select, "Keep only these features");
  app.add_option("--drop", arguments->drop, "Leave these features out")
      .comma_separated()
      .type_name("NAME,...");
  app.add_option("--rename", arguments->rename, "Give features other names")
      .comma_separated()
      .type_name("OLD=NEW,...");
  app.add_flag("--skip-corrupt", arguments->skip_corrupt,
               "Skip damaged regions and keep all intact records after them; report each region on "
               "standard error");
  add_json_summary(app, arguments->json);
  return [arguments](const CommandContext& context) { return convert(context, *arguments); };
}

}  // namespace

Command convert_command() {
  return {
      .name = "convert",
      .summary = "Recompresses, splits, merges, shuffles, samples and edits",
      .description =
          R"(Reads the records of all inputs in order, and writes the selected ones. Records that are not edited
are copied unchanged. The same inputs, options and seed give the same files with any number of
threads (with --level fast, on the same kind of processor). An output file appears when it is
complete; several files appear together. The output may replace an input, unless records or features
are left out.

gzip and zstd output is compressed on all cores, in independent pieces of 512 KiB (gzip members or
zstd frames). Together they form one valid stream for every reader.

--shards and --sample-count count the records first, so their inputs must be files (with --shuffle,
any input is allowed). Shards are filled one after another, so reading them in order gives the order
of the input; add --shuffle to mix the records.

With --skip-corrupt, each damaged region is reported on standard error, as by verify, and the exit
status is 0. --json prints {"files": [{"path", "records", "bytes"}, ...], "regions_skipped",
"bytes_skipped"}. Memory: 64 MiB and the largest record, whatever the size of the inputs.)",
      .examples = R"(  tfrecord convert train.tfrecords -o train.tfrecords.gz
  tfrecord convert 'train-*-of-00064' -o all.tfrecords
  tfrecord convert all.tfrecords -o train --shards 64 --shuffle --seed 7
  tfrecord convert all.tfrecords -o cats.tfrecords --where 'label == 3'
  tfrecord convert all.tfrecords -o small.tfrecords --select image,label
  tfrecord convert damaged.tfrecords -o good.tfrecords --skip-corrupt)",
      .define = define};
}

}  // namespace recordpipe
