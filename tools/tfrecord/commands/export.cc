// tfrecord export: exports records as JSON lines, CSV, NumPy arrays, images or WebDataset's
// archives (export_target.h), and as Parquet or Arrow tables (python_tables.h).
#include <algorithm>
#include <exception>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/format_names.h"
#include "dataset/toolkit/files/input_records.h"
#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/usual_features.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/formats/export_target.h"
#include "tools/tfrecord/formats/python_tables.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/event_arguments.h"
#include "tools/tfrecord/records/shard_output.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct ExportArguments {
  InputArguments input = {};
  std::string format = {};
  TargetOptions target = {};
  std::string delimiter = {};
  std::vector<std::string> members = {};
  PixelArguments pixels = {};
  std::optional<MessageKind> kind = {};
  std::string where = {};
  std::vector<std::string> features = {};
  std::optional<uint64_t> limit = {};
  size_t threads = 0;
  EventArguments events = {};
  bool skip_corrupt = false;
  bool json = false;
  // Of tables only.
  std::vector<std::string> rename = {};
  std::string text = {};
  ShardJob shards = {};
};

const std::map<std::string, std::string, std::less<>> kTargetEndings = {
    {".json", "json"}, {".jsonl", "json"}, {".ndjson", "json"},   {".csv", "csv"},
    {".tsv", "tsv"},   {".npz", "npz"},    {".tar", "webdataset"}};

std::string named_format(const ExportArguments& arguments) {
  if (!arguments.format.empty()) {
    require_name_of_export(arguments.target.output, arguments.format);
    return arguments.format;
  }
  if (const std::string table = table_format_of(arguments.target.output); !table.empty()) {
    return table;
  }
  for (const auto& [ending, format] : kTargetEndings) {
    if (arguments.target.output.ends_with(ending)) return format;
  }
  if (arguments.target.output.ends_with('/')) return "images";
  throw UsageError(
      "can't detect the output format from -o, which should end in .jsonl, .csv, .tsv, .npz, .tar "
      "(WebDataset), .parquet, .arrow or / (a folder of images): give --to");
}

// --tag and --step are of scalars.
std::string format_of(const ExportArguments& arguments) {
  const std::string format = named_format(arguments);
  if (!event_filter_of(arguments.events) || format == "scalars") return format;
  if (format == "csv" || format == "tsv") return "scalars";
  throw UsageError("--tag and --step are for --to scalars: a row of CSV for each value");
}

// Between the cells of CSV; throws UsageError if it is given for another format.
char cell_delimiter(const ExportArguments& arguments, const std::string& format) {
  if (format != "scalars") return delimiter_of(arguments.delimiter, format);
  const bool is_tsv = arguments.format == "tsv" ||
                      (arguments.format != "csv" && arguments.target.output.ends_with(".tsv"));
  return delimiter_of(arguments.delimiter, is_tsv ? "tsv" : "csv");
}

TargetOptions target_options(FileSystem& files, const std::string& format,
                             const ExportArguments& arguments) {
  TargetOptions options = arguments.target;
  options.members = members_of(arguments.members);
  options.pixels = pixel_options(arguments.pixels);
  options.checks_images = arguments.skip_corrupt;
  options.events = event_filter_of(arguments.events).value_or(EventFilter());
  options.delimiter = cell_delimiter(arguments, format);
  if (options.temporary_directory.empty()) {
    options.temporary_directory = temporary_directory_for(files, options.output);
  }
  return options;
}

std::unique_ptr<ExportTarget> open_target(const CommandContext& context, const std::string& format,
                                          const TargetOptions& options) {
  if (format == "json") return json_target(context, options);
  if (format == "csv" || format == "tsv") return csv_target(context, options);
  if (format == "scalars") return scalars_target(context, options);
  if (format == "npz") return npz_target(context, options);
  if (format == "webdataset") return webdataset_target(context, options);
  if (options.output == "-") throw UsageError("standard output is not a folder: give -o a name");
  return image_folder_target(context, options);
}

}  // namespace

void require_example(const ExportedRecord& record, const std::string& hint) {
  if (record.message.kind() == MessageKind::example) return;
  const std::string why = record.message.undecided();
  const bool is_event = record.message.kind() == MessageKind::event;
  throw Error({.kind = ErrorKind::unsupported,
               .reason = fmt::format("record {} is {}", record.number,
                                     is_event      ? "an Event of TensorBoard"
                                     : why.empty() ? "not an Example"
                                                   : why),
               .hint = is_event ? "--to scalars makes a row of CSV of each value" : hint});
}

namespace {

// Throws if the features aren't the whole message.
void require_exportable(const MessageView& message) {
  const auto field = message.unread();
  if (!field) return;
  throw Error({.kind = ErrorKind::unsupported,
               .reason = fmt::format("the export would lose {} (byte {} of the record)",
                                     field->what, field->offset),
               .hint = "without --kind, JSON lines keep such records as their bytes"});
}

// Of the files of --to-dir.
std::string table_ending(const ExportArguments& arguments) {
  if (is_table_format(arguments.format)) return "." + arguments.format;
  throw UsageError("--to-dir is for --to parquet and --to arrow");
}

// Throws UsageError for options that the format doesn't use.
void require_used(const ExportArguments& arguments, const std::string& format) {
  const TargetOptions& target = arguments.target;
  const auto require = [&](bool is_given, std::string_view options,
                           const std::vector<std::string_view>& formats) {
    if (!is_given || std::ranges::count(formats, format) > 0) return;
    throw UsageError(fmt::format("{} for {}", options, fmt::join(formats, " and ")));
  };
  (void)cell_delimiter(arguments, format);
  require(!arguments.rename.empty() || !arguments.text.empty(), "--rename and --text are",
          {"parquet", "arrow"});
  require(!target.image.empty() || !target.label.empty() || !target.labels.empty(),
          "--image, --label and --labels are", {"images"});
  require(!target.name.empty(), "--name is", {"images", "webdataset"});
  require(!arguments.pixels.shape.empty() || !arguments.pixels.layout.empty(),
          "--shape and --layout are", {"npz", "images"});
  require(target.many_archives(), "--max-bytes and --max-records are", {"webdataset"});
  require(!arguments.members.empty(), "--members is", {"webdataset"});
}

// The options of convert() in Python.
nlohmann::ordered_json table_options(const ExportArguments& arguments) {
  const RecordReadOptions& reading = arguments.input.reading;
  nlohmann::ordered_json options = {{"check_crc", reading.crc != CrcCheck::never},
                                    {"max_record_size", reading.max_record_size},
                                    {"rename", renames_of(arguments.rename)}};
  if (arguments.threads > 0) options["threads"] = arguments.threads;
  if (reading.compression) options["input_compression"] = to_string(*reading.compression);
  for (const auto& [name, kind] : kMessageKindNames) {
    if (arguments.kind == kind) options["kind"] = name;
  }
  if (!arguments.where.empty()) options["where"] = arguments.where;
  if (!arguments.features.empty()) options["select"] = arguments.features;
  if (arguments.limit) options["limit"] = *arguments.limit;
  if (!arguments.text.empty()) options["text"] = arguments.text;
  if (arguments.skip_corrupt) options["on_damage"] = "resync";
  const std::string& directory = arguments.target.temporary_directory;
  if (!directory.empty()) options["tmp_dir"] = directory;
  return options;
}

ExitCode export_records(const CommandContext& context, const ExportArguments& arguments) {
  check_shard_output(arguments.shards, arguments.target.output);
  const std::string format = format_of(arguments);
  const bool is_table = is_table_format(format);
  require_used(arguments, format);
  if (is_table && !arguments.shards.folder.empty() && arguments.limit) {
    throw UsageError("--limit is of all inputs together: it needs -o, not --to-dir");
  }
  if (arguments.target.many_archives() && arguments.target.output == "-") {
    throw UsageError("standard output can't be split: give -o a name");
  }
  check_json_summary(arguments.json, arguments.target.output);
  InputReading input = input_reading(arguments.input.reading, arguments.skip_corrupt);
  if (is_table) {
    return export_tables(context, arguments.input.files.found(context),
                         {.format = format,
                          .output = arguments.target.output,
                          .job = arguments.shards,
                          .options = table_options(arguments),
                          .skip_corrupt = arguments.skip_corrupt,
                          .json = arguments.json});
  }
  SkippedDamage skipped(context, "export");
  input.paths = arguments.input.files.paths(context);
  input.damaged = skipped.sink();
  const FeatureNames features(arguments.features.begin(), arguments.features.end());
  FeatureNames named = features;
  for (const auto& [extension, feature] : members_of(arguments.members)) {
    if (named.insert(feature).second && !features.empty()) {
      throw UsageError("--members names " + printable(feature) + ", which --select leaves out");
    }
  }
  const auto target =
      open_target(context, format, target_options(context.files, format, arguments));
  MessageView message(arguments.kind);
  SelectionReport report;
  FeatureNames found;
  InputProgress progress(context, "export", input.paths);
  const FileWork work = work_of(context, progress);
  const auto run = [&](const char* activity, auto visit) {
    const RecordSelection selection = {.where = where_of(arguments.where),
                                       .limit = arguments.limit,
                                       .edit = {.kind = arguments.kind},
                                       .named = named,
                                       .threads = arguments.threads};
    uint64_t number = 0;
    report = select_inputs(
        work, input, selection, activity, [&](RecordPieces pieces, const NumberedRecord&) {
          const auto data = pieces.front();
          message.read(data);
          find_names(message, named, found);
          require_exportable(message);
          keep_features(message, features);
          visit(ExportedRecord{.number = number++, .data = data, .message = message});
        });
  };
  const auto note_of_names = [&] {
    found.merge(report.found);
    if (report.taken == 0) return std::string();
    return require_found(named, found, report.present, report.looked_at_all);
  };
  if (target->looks_first()) {
    require_readable_twice(context.files, input.paths, "--to json");
    run("look", [&](const ExportedRecord& record) { target->look(record); });
    note_of_names();  // a wrong name is an error before others that follow from it
    const bool may_have_more = !report.looked_at_all && report.taken > 0;
    target->end_look(may_have_more ? features : FeatureNames());
    input.damaged = {};  // was said
  }
  const bool skips_images = arguments.skip_corrupt && format == "images";
  std::exception_ptr first_broken;
  run("export", [&](const ExportedRecord& record) {
    try {
      target->write(record);
    } catch (const Error& error) {
      if (!skips_images || error.kind() != ErrorKind::corrupted) throw;
      skipped.skip_record(error);
      if (!first_broken) first_broken = std::current_exception();
    }
  });
  // All of them are rather no images, or their shape is another one.
  if (first_broken && skipped.records() == report.taken) std::rethrow_exception(first_broken);
  print_note(context, "export", note_of_names());
  print_note(context, "export", report.note);
  print_note(context, "export", target->note(report.looked_at_all && arguments.where.empty()));
  target->close();
  context.progress.clear();
  skipped.sum_up();
  const std::string& path = arguments.target.output;
  const std::vector<std::string> files = target->files();
  if (arguments.json) {
    nlohmann::ordered_json summary = {
        {"path", path}, {"format", format}, {"records", report.taken - skipped.records()}};
    if (const auto rows = target->rows()) summary["rows"] = *rows;
    if (arguments.skip_corrupt) {
      skipped.add_to(summary);
      summary["records_skipped"] = skipped.records();
    }
    if (!files.empty()) summary["files"] = files;
    print_json_summary(context, summary);
  } else if (path != "-") {
    print_summary(context,
                  fmt::format("wrote {} to {}",
                              target->rows() ? counted(*target->rows(), "row")
                                             : counted(report.taken - skipped.records(), "record"),
                              files.empty() ? printable(path) : counted(files.size(), "file")));
  }
  return ExitCode::ok;
}

CommandAction define_export(CommandApp& app) {
  const auto arguments = std::make_shared<ExportArguments>();
  add_inputs(app, arguments->input);
  app.add_output("-o,--output", arguments->target.output,
                 "Output file or folder, unless --to-dir is given; - is standard output",
                 [&options = arguments->target](const CommandContext& context) {
                   if (options.output.empty()) return std::vector<std::string>();
                   return replaced_by_export(context.files, options);
                 });
  static const std::optional<Compression> kNotCompressed;
  add_shard_output(app, arguments->shards, arguments->input.files, kNotCompressed,
                   [&given = *arguments] { return table_ending(given); });
  app.add_option("--to", arguments->format,
                 "Output format (default: from -o: .json, .jsonl, .ndjson, .csv, .tsv, .npz, .tar, "
                 ".parquet, .arrow or FOLDER/)")
      .one_of({"json", "csv", "tsv", "scalars", "npz", "images", "webdataset", "parquet", "arrow"});
  add_kind(app, arguments->kind);
  add_where(app, arguments->where);
  add_limit(app, arguments->limit);
  add_event_filter(app, arguments->events);
  add_features(app, arguments->features, "Only these features");
  add_rename(app, arguments->rename);
  app.add_option(
         "--text", arguments->text,
         "Parquet and Arrow: whether a feature whose values are all text becomes a column of "
         "strings, or of binary data as others (default: auto)")
      .one_of({"auto", "never"});
  add_delimiter(app, arguments->delimiter);
  app.add_option(
         "--image", arguments->target.image,
         fmt::format("Feature with the image (default: the first of {} with one value of bytes)",
                     fmt::join(kUsualImageFeatures, ", ")))
      .type_name("NAME");
  app.add_option(
         "--label", arguments->target.label,
         fmt::format("Feature that names an image's folder (default: the first of {} with one "
                     "value, with --labels of int64; if there is none, the image has no folder, "
                     "with --labels an error)",
                     fmt::join(kUsualLabelFeatures, ", ")))
      .type_name("NAME");
  app.add_input("--labels", arguments->target.labels,
                "File with the names of labels 0, 1, ..., one per line: images go to folders with "
                "these names")
      .type_name("FILE");
  app.add_option(
         "--name", arguments->target.name,
         "Feature that names an image's file (default: the record's number), or a sample of "
         "webdataset (default: __key__)")
      .type_name("NAME");
  app.add_option("--max-bytes", arguments->target.archive_bytes,
                 "webdataset: begin a new archive before BYTES would be exceeded")
      .transform(byte_size())
      .type_name("BYTES");
  app.add_option("--max-records", arguments->target.archive_records,
                 "webdataset: begin a new archive after N records")
      .check(whole_number(1))
      .type_name("N");
  add_members(app, arguments->members);
  add_pixel_options(app, arguments->pixels);
  app.add_option("--tmp-dir", arguments->target.temporary_directory,
                 "Directory for temporary files (default: the output's directory)")
      .type_name("DIR");
  add_threads(app, arguments->threads);
  add_skip_corrupt(app, arguments->skip_corrupt,
                   "; of images, also skip records whose image is broken");
  add_json_summary(app, arguments->json);
  return [arguments](const CommandContext& context) { return export_records(context, *arguments); };
}

}  // namespace

Command export_command() {
  return {
      .name = "export",
      .summary = "Writes records as JSON lines, CSV, Parquet, arrays or images",
      .description =
          R"(json        One line per record, as "show --json" prints it, but without offsets; an Event as its
            bytes. All other formats are for Examples: a SequenceExample or an
            ExampleListWithContext (ELWC, TensorFlow Ranking) is an error there.
csv         A header line, then one row per Example. A feature with one value becomes that value,
            one with none or several values a JSON list, a missing feature an empty cell; bytes that
            are not text become {"base64": "..."}. Text that looks like a number, true or false is
            quoted. In a column without values, empty lists of floats and bytes become {"float": []}
            and {"bytes": []}. A column has one type: features of several are reported, as are
            those without a list of values, which are missing. A record without features needs a
            table of two columns or more; but if --limit ends before any record with the one that is
            selected, there is only the header. Cells are separated by commas, in .tsv (--to tsv) by
            tabs, or by --delimiter.
scalars     Of TensorBoard's event files: CSV with a row for each scalar, with its wall_time (seconds
            since 1970), step, tag and value; --tag and --step select some. Other values are left
            out, and their number is reported.
npz         One array per feature. Every record must have the feature, with the same kind and number
            of values. int64 becomes <i8, float <f4. Bytes of equal length become uint8 [records,
            values, length]. With --shape they become [records, height, width, channels] (the pixels
            are taken as interleaved) or, with --layout chw, [records, channels, height, width].
            Bytes of different lengths become strings, padded to the longest; this is refused if
            they become 16 times as large, and larger than 64 MiB.
images      A folder with one subfolder per label, as torchvision's ImageFolder and Keras expect it:
            LABEL/NUMBER.jpg. Encoded images are written unchanged, raw pixels as PNG. Labels that
            are numbers get the names of --labels, or as many digits as the longest: ImageFolder
            numbers the classes in the order of their names. In all names, characters other than
            letters, digits, - and _ become _ (a second label with the same name gets -2, and so
            on). With --name, a file gets the name in a feature, without its folders and its ending;
            if that name is taken, the record's number follows. The output folder must not exist.
            The shape of raw pixels comes from --shape or from the record's height and width, or it
            is guessed from their number (3072 bytes are 32x32x3). The layout, planar or
            interleaved, is guessed from the first image: the one in which it is smoother. All
            guesses are printed.
webdataset  A tar archive for WebDataset. A record's features are members of the name KEY.FEATURE: a
            value of bytes as it is, a number as text, and several numbers as a JSON list,
            KEY.FEATURE.json, unless .json is its end; / in a feature's name becomes a dot, and a feature without values has
            no member; --members gives other extensions. KEY is the feature --name, the feature
            __key__, or else the record's number. With --max-bytes or --max-records, a.tar becomes
            a-00000-of-00003.tar and so on, which appear together.
parquet     One table (.parquet, .pq; arrow: .arrow, .feather, .ipc), or with --to-dir one for each
            input, x.parquet for x.tfrecord.gz: a row for each Example, a column for each feature.
            A feature with one value in every record that has it is a column of these values, one
            with as many values in all a fixed-size list, any other a list; a missing feature is
            null. Bytes are strings if all values are text, else binary data (--text). All inputs
            are read first for this, so the tables of a folder have the same columns. --resume,
            --keep-going and the manifest are those of convert; --threads is for each file.
            --where, --rename, --kind and --max-record-size need temporary files (--tmp-dir). Python
            does the work: the package recordpipe with pyarrow, which is found by python3, or by the
            interpreter that RECORDPIPE_PYTHON names.

"tfrecord create" reads all of these formats. For CSV, npz and tables the records are read twice, so
inputs must be files. An output appears when it is complete.)",
      .examples = R"(  tfrecord export a.tfrecords -o a.jsonl
  tfrecord export a.tfrecords -o labels.csv --select id,label
  tfrecord export events.out.tfevents.* -o loss.csv --tag 'loss*'
  tfrecord export cifar.tfrecords -o cats/ --where 'label == 3'
  tfrecord export train.tfrecords -o train/ --labels label.labels.txt
  tfrecord export depth.tfrecords -o depth/ --image depth_raw --shape 48x64
  tfrecord export cifar.tfrecords -o cifar.npz --shape 32x32x3 --layout chw
  tfrecord export 'train-*' -o train.tar --max-bytes 1GB --max-records 10000
  tfrecord export 'train-*' -o train.parquet --where 'label == 3'
  tfrecord export 'train-*' --to parquet --to-dir tables --resume)",
      .define = define_export};
}

}  // namespace recordpipe
