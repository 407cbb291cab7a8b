// tfrecord convert: changes the compression, the number of files or the order of records, or
// selects records and features.
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/jobs/convert_records.h"
#include "dataset/toolkit/jobs/shard_job.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/image/resize.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/resize_images.h"
#include "recordpipe/toolkit/usual_features.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/output_arguments.h"
#include "tools/tfrecord/records/shard_output.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct ConvertArguments {
  InputArguments input = {};
  RecordOutputArguments output = {};
  ShardJob shards = {};
  ConvertOptions options = {};  // all that the command line says in plain values
  std::string where = {};
  std::vector<std::string> select = {};
  std::vector<std::string> drop = {};
  std::vector<std::string> rename = {};
  std::optional<uint64_t> resize = {};
  std::optional<uint64_t> quality = {};
  std::vector<std::string> images = {};
  bool skip_corrupt = false;
  bool dry_run = false;
  bool json = false;
};

constexpr uint64_t kQuality = 90;

FeatureEdit edit_of(const ConvertArguments& arguments) {
  FeatureEdit edit;
  if (arguments.resize) {
    edit = resize_images({.features = arguments.images,
                          .short_side = *arguments.resize,
                          .quality = static_cast<int>(arguments.quality.value_or(kQuality))});
  }
  if (!arguments.select.empty()) {
    edit.select.emplace(arguments.select.begin(), arguments.select.end());
  }
  edit.drop = {arguments.drop.begin(), arguments.drop.end()};
  edit.rename = renames_of(arguments.rename);
  return edit;
}

// Without the inputs' paths and the output's stream.
ConvertOptions options_of(const ConvertArguments& arguments) {
  ConvertOptions options = arguments.options;
  options.input = input_reading(arguments.input.reading, arguments.skip_corrupt);
  options.output = options_of(arguments.output);
  RecordSelection& selection = options.selection;
  selection.where = where_of(arguments.where);
  selection.edit = edit_of(arguments);
  selection.edit.kind = arguments.options.selection.edit.kind;
  selection.threads = options.output.threads;
  return options;
}

// Has `skipped`, which must outlive the result, report what is skipped.
void report_to(SkippedDamage& skipped, ConvertOptions& options) {
  options.input.damaged = skipped.sink();
  if (options.input.on_damage == OnDamage::raise || !options.selection.edit.replace) return;
  options.selection.on_failed_edit = [&](const Error& error) { skipped.skip_record(error); };
}

void check(const ConvertArguments& arguments) {
  const RecordOutputOptions& output = arguments.output.options;
  const ConvertOptions& options = arguments.options;
  check_shard_output(arguments.shards, output.path);
  check_record_output(arguments.output);
  const bool mixes = output.many() || !arguments.output.parts.empty() || options.shuffle ||
                     options.sample_count || options.selection.limit;
  if (!arguments.shards.folder.empty() && mixes) {
    throw UsageError(
        "--shards, --max-bytes, --split, --shuffle, --sample-count and --limit are of all inputs "
        "together: "
        "they need -o, not --to-dir");
  }
  if (output.split.key && arguments.output.parts.empty()) {
    throw UsageError("--split-by belongs to --split");
  }
  if (options.selection.fraction && options.sample_count) {
    throw UsageError("--sample and --sample-count are two ways to sample: give one of them");
  }
  check_json_summary(arguments.json, output.path);
  if (!arguments.resize && (arguments.quality || !arguments.images.empty())) {
    throw UsageError("--quality and --image belong to --resize");
  }
}

// All that determines an output of --to-dir, except its input.
std::string operation_of(const ConvertArguments& arguments, const ConvertOptions& options) {
  const RecordOutputOptions& output = options.output;
  const RecordReadOptions& reading = options.input.reading;
  const RecordSelection& selection = options.selection;
  nlohmann::ordered_json operation = {
      {"compression",
       output.compression ? std::string(to_string(*output.compression)) : "as the input"},
      {"level", output.fast    ? "fast"
                : output.level ? std::to_string(*output.level)
                               : ""},
      {"input_compression", reading.compression ? static_cast<int>(*reading.compression) : -1},
      {"check_crc", reading.crc != CrcCheck::never},
      {"max_record_size", reading.max_record_size},
      {"kind", selection.edit.kind ? to_string(*selection.edit.kind) : ""},
      {"where", arguments.where},
      {"sample", selection.fraction.value_or(1)},
      {"seed", selection.fraction ? selection.seed : 0},
      {"select", arguments.select},
      {"drop", arguments.drop},
      {"rename", arguments.rename},
      {"resize", arguments.resize.value_or(0)},
      {"quality", arguments.quality.value_or(kQuality)},
      {"image", arguments.images},
      {"skip_corrupt", arguments.skip_corrupt}};
  return "convert " + operation.dump();
}

// --to-dir with --dry-run.
ExitCode plan_each(const CommandContext& context, const ConvertArguments& arguments,
                   ConvertOptions options) {
  const FilesAndFolders& inputs = arguments.input.files.found(context);
  options.input.paths = inputs.files;
  InputProgress progress(context, "count", inputs.files);
  ConvertPlan plan = plan_conversion(work_of(context, progress), options);
  plan.outputs.clear();
  const auto names = shard_names(inputs.files, options.output.compression, inputs.folders);
  for (size_t i = 0; i < names.size(); ++i) {
    try {
      (void)compression_of_shard(context.files, inputs.files[i], options.output.compression,
                                 options.input.reading);
      plan.outputs.push_back(arguments.shards.folder + "/" + names[i]);
    } catch (const Error& error) {  // as at its turn
      if (!arguments.shards.keep_going || error.kind() == ErrorKind::cancelled) throw;
      print_note(context, "convert", text_of(error));
    }
  }
  context.progress.clear();
  return print_plan(context, plan, arguments.json);
}

// --to-dir.
ExitCode convert_each(const CommandContext& context, const ConvertArguments& arguments,
                      const ConvertOptions& options) {
  const FilesAndFolders& inputs = arguments.input.files.found(context);
  std::mutex mutex;  // of the next two
  size_t converted = 0;
  JobFeatures features(options.selection);
  const auto make = [&](const ShardToMake& shard) {
    ConvertOptions one = options;
    one.input.paths = {shard.input};
    one.selection.seed = shard.seed;
    one.selection.is_part = true;
    one.selection.threads = one.output.threads = shard.threads;
    one.output.path = shard.output;
    one.output.compression = compression_of_shard(
        context.files, shard.input, options.output.compression, options.input.reading);
    SkippedDamage skipped(context, "convert");
    report_to(skipped, one);
    const ConvertReport report = convert_records(shard.work, std::move(one));
    const std::lock_guard lock(mutex);
    ++converted;
    features.add(report.features);
    return ShardCounts{.records = report.files.at(0).records,
                       .skipped = skipped.counts(),
                       .records_skipped = skipped.records()};
  };
  ShardJob job = arguments.shards;
  job.operation = operation_of(arguments, options);
  job.threads = options.output.threads;
  const ExitCode status = run_shard_command(context, {.name = "convert",
                                                      .job = std::move(job),
                                                      .inputs = inputs,
                                                      .compression = options.output.compression,
                                                      .seed = options.selection.seed,
                                                      .json = arguments.json,
                                                      .make = make});
  try {
    print_note(context, "convert", features.require_found_in_any(converted == inputs.files.size()));
    return status;
  } catch (const Error& error) {
    // The outputs are whole, so they stay.
    print_note(context, "convert",
               fmt::format("{}; the files in {} are written all the same, and --resume keeps them",
                           text_of(error), printable(arguments.shards.folder)));
    return ExitCode::trouble;
  }
}

ExitCode convert(const CommandContext& context, const ConvertArguments& arguments) {
  check(arguments);
  ConvertOptions options = options_of(arguments);
  if (!arguments.shards.folder.empty()) {
    return arguments.dry_run ? plan_each(context, arguments, std::move(options))
                             : convert_each(context, arguments, options);
  }
  options.input.paths = arguments.input.files.paths(context);
  const std::string& path = options.output.path;
  options.output.open_stream = [&] { return open_if_stream(context, path); };
  const bool may_spill = options.shuffle || options.needs_count();
  if (may_spill && options.temporary_directory.empty()) {
    options.temporary_directory = temporary_directory_for(context.files, path);
  }
  if (options.needs_count()) {
    require_readable_twice(context.files, options.input.paths,
                           "--shards-by round-robin, --sample instead of --sample-count, "
                           "or --shuffle");
  }
  if (arguments.dry_run) {
    InputProgress progress(context, "count", options.input.paths);
    const ConvertPlan plan = plan_conversion(work_of(context, progress), options);
    context.progress.clear();
    return print_plan(context, plan, arguments.json);
  }
  SkippedDamage skipped(context, "convert");
  report_to(skipped, options);
  InputProgress progress(context, "convert", options.input.paths);
  const ConvertReport report = convert_records(work_of(context, progress, "convert"), options);
  context.progress.clear();
  skipped.sum_up();
  if (arguments.json) {
    nlohmann::ordered_json summary = {{"files", to_json(report.files)}};
    skipped.add_to(summary);
    if (arguments.resize) summary["records_skipped"] = skipped.records();
    print_json_summary(context, summary);
  } else if (path != "-") {
    const bool none_matches = options.selection.where && report.taken == 0;
    print_summary(context, describe(report.files) +
                               (none_matches ? fmt::format("; --where matches none of {}",
                                                           counted(report.read, "record"))
                                             : ""));
  }
  return ExitCode::ok;
}

CommandAction define_convert(CommandApp& app) {
  const auto arguments = std::make_shared<ConvertArguments>();
  ConvertOptions& options = arguments->options;
  RecordOutputOptions& output = arguments->output.options;
  add_inputs(app, arguments->input);
  add_record_output(app, arguments->output, [&given = *arguments](const CommandContext& context) {
    ConvertOptions all = options_of(given);
    all.input.paths = given.input.files.paths(context);
    return all.may_replace_input();
  }).description("Output file, unless --to-dir is given; - is standard output");
  app.add_option("--split", arguments->output.parts,
                 "Divide the records into splits: OUTPUT-NAME gets this fraction of them")
      .comma_separated()
      .type_name("NAME=FRACTION,...");
  app.add_option_function(
         "--split-by", [&output](const std::string& feature) { output.split.key = feature; },
         "Feature that determines the split: records with equal values are in the same one "
         "(default: each record is drawn at random)")
      .type_name("FEATURE");
  add_shard_output(app, arguments->shards, arguments->input.files, output.compression);
  app.add_flag("--shuffle", options.shuffle,
               "Shuffle the records (all orders are equally likely); records that don't fit into "
               "memory go to temporary files");
  app.add_option("--tmp-dir", options.temporary_directory,
                 "Directory for temporary files (default: the output's directory)")
      .type_name("DIR");
  add_kind(app, options.selection.edit.kind);
  add_where(app, arguments->where);
  app.add_option("--sample", options.selection.fraction, "Take each record with this probability")
      .check(number_between(0, 1))
      .type_name("FRACTION");
  app.add_option("--sample-count", options.sample_count, "Take N records, drawn at random")
      .check(whole_number())
      .type_name("N");
  app.add_option("--seed", options.selection.seed,
                 "Random seed for --shuffle, --sample, --sample-count and --split")
      .check(whole_number())
      .type_name("S")
      .show_default();
  add_limit(app, options.selection.limit);
  add_features(app, arguments->select, "Keep only these features");
  app.add_option("--drop", arguments->drop, "Leave these features out")
      .comma_separated()
      .type_name("NAME,...");
  add_rename(app, arguments->rename);
  app.add_option("--resize", arguments->resize,
                 "Make images smaller: the shorter side becomes N pixels; smaller images stay as "
                 "they are")
      .check(whole_number(1, kMaxResizedSide))
      .type_name("N");
  app.add_option("--quality", arguments->quality, "Quality of resized JPEG images (default: 90)")
      .check(whole_number(1, 100))
      .type_name("Q");
  app.add_option(
         "--image", arguments->images,
         fmt::format("Features that --resize resizes (default: the first of {} that holds bytes)",
                     fmt::join(kUsualImageFeatures, ", ")))
      .comma_separated()
      .type_name("NAME,...");
  add_skip_corrupt(app, arguments->skip_corrupt,
                   ", and skip records whose image --resize can't decode");
  app.add_flag("--dry-run", arguments->dry_run,
               "Print what would be read and written, and write nothing");
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
complete; several files appear together. The output may replace the input if there is only one, and
neither records nor features are left out.

gzip and zstd output is compressed on all cores, in independent pieces of 512 KiB (gzip members or
zstd frames). Together they form one valid stream for every reader.

Many inputs are read at a time: the next ones are opened and decompressed ahead.

Shards are filled one after another, so reading them in order gives the order of the input; add
--shuffle to mix the records. To fill shards in this way, and for --sample-count, the number of
records must be known first, so the inputs must be files. It comes from FILE.idx beside an input
(tfrecord index) or, for a local file that isn't compressed, from the records' headers. Compressed
files and URLs without an index are read twice. With --where, --skip-corrupt, --limit (up to there)
or, with --split, --split-by, every input is read twice, unless the selected records take at most 4
MiB, or, in a temporary file of --tmp-dir, at most 1 GiB and a quarter of the inputs. --shuffle
needs no counts. Neither does --shards-by round-robin, which deals the records out in turn to all
shards, which are open at the same time: at most 10,000. --dry-run prints what would be read and
written; with --json {"inputs", "bytes", "records", "read_twice", "outputs"}.

--split train=0.9,val=0.1 writes OUTPUT-train and OUTPUT-val, each with --shards, if given. The name
precedes the extensions .tfrecord, .tfrecords and those of compressions, as in TFDS: "-o
a/mnist.tfrecord" gives a/mnist-train.tfrecord, and -o a/ gives a/train. All files appear together.
By default, each record is drawn by the seed, the name of its file (without folder and compression)
and its number there: its split depends neither on other files nor on threads, and inputs of equal
names are refused. --split-by FEATURE divides by a value instead, one int64 or string in each
record: by a hash of the seed and the value, which help(recordpipe.convert) in Python states. Neither
way will change.

--resize decodes the JPEG and PNG images of a feature, with one image or any number in each record,
resizes them (bilinear with antialiasing, as PIL and torchvision), and encodes them in their format:
JPEG with --quality, 4:2:0; PNG with its channels. The longer side keeps the ratio, rounded down. Of EXIF,
only the orientation of a JPEG is kept. int64 features named height and width,
beside the image feature or alone, that hold its old size get the new one. Without --image, a record
without an image is an error.

--to-dir makes a file of the same name from each input in a folder, several at a time, compressed as
the input; --compression changes this and the extension. With --recursive, the folders below an input
folder are made below DIR. Each file appears when it is complete. With --keep-going, a file that fails
doesn't stop the others. --resume makes only the files that are missing, or whose input, options or
version of tfrecord differ; a damaged input that has failed and is the same fails again at once. At
the end, DIR/manifest.jsonl has a line of JSON for each file of this run: {"job", "input", "version",
"output", "records", "bytes", "crc32c"}, or, with --keep-going, {"job", "input", "version", "output",
"error"} if it failed; until then, DIR/.shards has this line of each file that is complete. "tfrecord
verify --manifest" compares the files with it. A file may lack a feature that an option names; if all
do, an error says so at the end. --sample draws in each file by the seed and the file's
name.

With --skip-corrupt, each damaged region is reported on standard error, as by verify, and the exit
status is 0. If a compressed file is damaged itself, reading continues at the next gzip member or
zstd frame, of which there may be none; the report says how many of its compressed bytes are lost.
--json prints {"files": [{"path", "records", "bytes"}, ...], "regions_skipped", "bytes_skipped"},
"compressed_bytes_skipped" if there are any, and with --resize "records_skipped"; with --split, a
file has a "split". Memory: 64 MiB and the largest record, whatever the size of the inputs; --resize
adds an image's pixels for each thread, and compression in round-robin order 32 MiB, or 64 KiB for
each of more than 512 shards.)",
      .examples = R"(  tfrecord convert train.tfrecords -o train.tfrecords.gz
  tfrecord convert 'train-*-of-00064' -o all.tfrecords
  tfrecord convert all.tfrecords -o train --shards 64 --shuffle --seed 7
  tfrecord convert 'train-*' -o set --split train=0.9,val=0.1 --shards 8
  tfrecord convert all.tfrecords -o cats.tfrecords --where 'label == 3'
  tfrecord convert all.tfrecords -o small.tfrecords --select image,label
  tfrecord convert 'photos-*' -o small --shards 16 --resize 256 --quality 90
  tfrecord convert 'in/*.gz' --to-dir out --compression zstd
  tfrecord convert damaged.tfrecords -o good.tfrecords --skip-corrupt)",
      .define = define_convert};
}

}  // namespace recordpipe
