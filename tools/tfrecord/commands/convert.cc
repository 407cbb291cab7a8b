// tfrecord convert: changes the compression, the number of files or the order of records, or
// selects records and features.
#include "dataset/toolkit/files/convert.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/error.h"
#include "recordpipe/image/resize.h"
#include "recordpipe/internal/url_path.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/resize_images.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
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
  std::optional<uint64_t> resize = {};
  std::optional<uint64_t> quality = {};
  std::vector<std::string> images = {};
  bool skip_corrupt = false;
  bool json = false;
};

constexpr uint64_t kQuality = 90;

// Returns nullopt, which keeps all features, if no feature was named.
std::optional<FeatureNames> selected(const std::vector<std::string>& names) {
  if (names.empty()) return std::nullopt;
  return FeatureNames(names.begin(), names.end());
}

FeatureEdit edit_of(const ConvertArguments& arguments) {
  FeatureEdit edit;
  if (arguments.resize) {
    edit = resize_images({.features = arguments.images,
                          .short_side = *arguments.resize,
                          .quality = static_cast<int>(arguments.quality.value_or(kQuality))});
  }
  edit.select = selected(arguments.select);
  edit.drop = {arguments.drop.begin(), arguments.drop.end()};
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

// The options without the inputs' paths and the output.
ConvertOptions options_of(const ConvertArguments& arguments) {
  ConvertOptions options = {.input = {.reading = arguments.input.reading},
                            .selection = selection_of(arguments),
                            .sample_count = arguments.sample_count,
                            .shuffle = arguments.shuffle,
                            .temporary_directory = arguments.temporary_directory};
  if (arguments.skip_corrupt) options.input.on_damage = [](const auto&, const auto&) {};
  return options;
}

void check(const ConvertArguments& arguments) {
  check_record_output(arguments.output);
  if (arguments.fraction && arguments.sample_count) {
    throw UsageError("--sample and --sample-count are two ways to sample: give one of them");
  }
  check_json_summary(arguments.json, arguments.output.path);
  if (!arguments.resize && (arguments.quality || !arguments.images.empty())) {
    throw UsageError("--quality and --image belong to --resize");
  }
  if (arguments.skip_corrupt && arguments.input.reading.crc == CrcCheck::never) {
    throw UsageError("--skip-corrupt and --no-crc contradict each other");
  }
}

// What --skip-corrupt has skipped.
struct Skipped {
  uint64_t regions = 0;
  uint64_t bytes = 0;
  uint64_t records = 0;  // whose image can't be resized
};

void skip(const CommandContext& context, const std::string& path, const DamagedRegion& region,
          Skipped& skipped) {
  context.progress.warn("tfrecord convert: " + shown_path(path) + ": skipped " + describe(region));
  skipped.regions += 1;
  skipped.bytes += region.size();
}

ExitCode convert(const CommandContext& context, const ConvertArguments& arguments) {
  check(arguments);
  ConvertOptions options = options_of(arguments);
  options.input.paths = expand_inputs(context.files, arguments.input.files);
  options.output = record_output_options(context, arguments.output);
  if (options.shuffle && options.temporary_directory.empty()) {
    options.temporary_directory = temporary_directory_for(context.files, arguments.output.path);
  }
  if (options.reads_twice()) {
    require_readable_twice(context.files, options.input.paths,
                           "--max-bytes instead of --shards, --sample instead of --sample-count, "
                           "or --shuffle");
  }
  Skipped skipped;
  if (arguments.skip_corrupt) {
    options.input.on_damage = [&](const std::string& path, const DamagedRegion& region) {
      skip(context, path, region, skipped);
    };
    if (arguments.resize) {
      options.selection.on_failed_edit = [&](const Error& error) {
        context.progress.warn(std::string("tfrecord convert: skipped a record: ") + error.what());
        skipped.records += 1;
      };
    }
  }
  InputProgress progress(context, "convert", options.input.paths);
  const bool selects = options.selection.where.has_value();
  const ConvertReport report = convert_records(work_of(context, progress), std::move(options));
  context.progress.clear();
  if (skipped.regions > 0) {
    context.progress.warn("tfrecord convert: skipped " +
                          describe_damage(skipped.regions, skipped.bytes));
  }
  if (skipped.records > 0) {
    context.progress.warn("tfrecord convert: skipped " + counted(skipped.records, "record") +
                          " with a broken image");
  }
  if (arguments.json) {
    nlohmann::ordered_json summary = {{"files", to_json(report.files)},
                                      {"regions_skipped", skipped.regions},
                                      {"bytes_skipped", skipped.bytes}};
    if (arguments.resize) summary["records_skipped"] = skipped.records;
    print_json_summary(context, summary);
  } else if (arguments.output.path != "-") {
    const std::string why =
        selects && report.taken == 0
            ? fmt::format("; --where matches none of {}", counted(report.read, "record"))
            : "";
    print_summary(context, describe(report.files) + why);
  }
  return ExitCode::ok;
}

CommandAction define(CommandApp& app) {
  const auto arguments = std::make_shared<ConvertArguments>();
  add_inputs(app, arguments->input);
  add_record_output(app, arguments->output,
                    [&given = *arguments] { return options_of(given).keeps_everything(); });
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
  app.add_option("--resize", arguments->resize,
                 "Make images smaller: the shorter side becomes N pixels; smaller images stay as "
                 "they are")
      .check(whole_number(1, kMaxResizedSide))
      .type_name("N");
  app.add_option("--quality", arguments->quality, "Quality of resized JPEG images (default: 90)")
      .check(whole_number(1, 100))
      .type_name("Q");
  app.add_option("--image", arguments->images,
                 "The features that --resize resizes; left out, image/encoded, image or the like")
      .comma_separated()
      .type_name("NAME,...");
  app.add_flag(
      "--skip-corrupt", arguments->skip_corrupt,
      "Skip damaged regions and keep all intact records after them, and skip records whose "
      "image --resize can't decode; report each on standard error");
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

--resize decodes the JPEG and PNG images of a feature, with one image or any number in each record,
resizes them (bilinear with antialiasing, as PIL and torchvision), and encodes them in their format:
JPEG with --quality, 4:2:0; PNG with its channels. The longer side keeps the ratio, rounded down. Of EXIF,
only the orientation of a JPEG is kept. int64 features named height and width,
beside the image feature or alone, that hold its old size get the new one. Without --image, a record
without an image is an error.

With --skip-corrupt, each damaged region is reported on standard error, as by verify, and the exit
status is 0. --json prints {"files": [{"path", "records", "bytes"}, ...], "regions_skipped",
"bytes_skipped"}, and with --resize "records_skipped". Memory: 64 MiB and the largest record, whatever
the size of the inputs; --resize adds an image's pixels for each thread.)",
      .examples = R"(  tfrecord convert train.tfrecords -o train.tfrecords.gz
  tfrecord convert 'train-*-of-00064' -o all.tfrecords
  tfrecord convert all.tfrecords -o train --shards 64 --shuffle --seed 7
  tfrecord convert all.tfrecords -o cats.tfrecords --where 'label == 3'
  tfrecord convert all.tfrecords -o small.tfrecords --select image,label
  tfrecord convert 'photos-*' -o small --shards 16 --resize 256 --quality 90
  tfrecord convert damaged.tfrecords -o good.tfrecords --skip-corrupt)",
      .define = define};
}

}  // namespace recordpipe
