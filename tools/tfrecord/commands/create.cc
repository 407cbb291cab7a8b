// tfrecord create: creates TFRecord files from other formats, with one class per format
// (example_source.h).
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/formats/python_tables.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/io/text_encoding.h"
#include "tools/tfrecord/records/output_arguments.h"
#include "tools/tfrecord/records/shard_output.h"

namespace recordpipe {
namespace {

struct CreateArguments {
  FileArguments inputs = FileArguments(FolderInputs::kept);
  std::string format = {};
  std::vector<std::string> types = {};
  std::vector<std::string> members = {};
  std::string delimiter = {};
  SourceOptions source = {};
  RecordOutputArguments output = {};
  ShardJob shards = {};  // of tables
  bool json = false;
};

const std::map<std::string, std::string, std::less<>> kSourceEndings = {
    {".json", "json"},      {".jsonl", "json"},        {".ndjson", "json"}, {".csv", "csv"},
    {".tsv", "tsv"},        {".npy", "numpy"},         {".npz", "numpy"},   {".tar", "webdataset"},
    {".tgz", "webdataset"}, {".tar.gz", "webdataset"}, {".svm", "libsvm"},  {".libsvm", "libsvm"}};

std::string format_of(FileSystem& files, const std::string& path) {
  if (const std::string table = table_format_of(without_query(path)); !table.empty()) return table;
  std::string name(without_query(path));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view compressed : {".gz", ".zst"}) {
    if (name.ends_with(compressed) && !name.ends_with(".tar.gz")) {
      name.resize(name.size() - compressed.size());
    }
  }
  for (const auto& [ending, format] : kSourceEndings) {
    if (!name.ends_with(ending)) continue;
    const bool is_cifar = name.find("cifar", name.rfind('/') + 1) != name.npos;
    return format == "webdataset" && is_cifar ? "cifar" : format;
  }
  if (!is_standard_input(path) && !is_url(path)) {
    const auto status = files.status(path);
    if (status && status->kind == FileKind::directory) return "images";
    if (!status) {
      throw Error({.kind = ErrorKind::not_found, .path = path, .reason = "no such file or folder"});
    }
    if (is_image_name(name)) return "images";
  }
  throw UsageError(fmt::format("can't detect the format of {} from its name: give --from",
                               is_standard_input(path) ? "standard input" : shown_path(path)));
}

FeatureTypes parse_types(const std::vector<std::string>& given) {
  FeatureTypes types = {.called = "--types"};
  for (const std::string& pair : given) {
    const size_t equals = pair.rfind('=');
    if (equals == pair.npos) {
      throw UsageError("--types " + printable(shown_word(pair)) + ": should be NAME=TYPE");
    }
    const std::string type = pair.substr(equals + 1);
    if (type != "int64" && type != "uint64" && type != "float" && type != "bytes") {
      throw UsageError("--types: a type is int64, uint64, float or bytes, not " +
                       printable(shown_word(type)));
    }
    types.kinds[pair.substr(0, equals)] = type;
  }
  return types;
}

std::string format_of_inputs(const CommandContext& context, const CreateArguments& arguments) {
  const auto& paths = arguments.inputs.paths(context);
  std::string format = arguments.format;
  for (const std::string& path : paths) {
    const std::string input_format =
        arguments.format.empty() ? format_of(context.files, path) : format;
    if (format.empty()) format = input_format;
    if (format != input_format) {
      throw UsageError(
          fmt::format("inputs of several formats, {} and {}: one at a time", format, input_format));
    }
    if (is_table_format(format) && table_format_of(path) != format) {
      throw UsageError(fmt::format("the names of {} files end in .{}", format, format));
    }
    if (is_standard_input(path) && (format == "numpy" || format == "images")) {
      throw UsageError(fmt::format("{} can't be read from standard input", format));
    }
    if (format == "images" && !context.files.is_directory(path) && context.files.status(path)) {
      throw UsageError(
          fmt::format("{} is no folder: images are read from a folder that has one for "
                      "each class, such as DIR for DIR/cat/1.jpg",
                      shown_path(path)));
    }
  }
  return format;
}

// Throws UsageError for options that the format doesn't use, or that can't be.
SourceOptions source_options(const CommandContext& context, const CreateArguments& arguments,
                             const std::string& format) {
  const bool is_csv = format == "csv" || format == "tsv";
  if (!arguments.types.empty() && format != "json" && !is_csv) {
    throw UsageError("--types is for JSON and CSV: " + format + " contains its types");
  }
  if (!arguments.members.empty() && format != "webdataset") {
    throw UsageError("--members is for webdataset");
  }
  SourceOptions options = arguments.source;
  options.members = members_of(arguments.members);
  if (!options.encoding.empty()) {
    if (format != "json" && format != "libsvm" && !is_csv) {
      throw UsageError("--encoding is for text, not " + format);
    }
    require_encoding(options.encoding);
  }
  options.delimiter = delimiter_of(arguments.delimiter, format);
  options.types = parse_types(arguments.types);
  options.threads = arguments.output.options.threads;
  if (options.temporary_directory.empty()) {
    options.temporary_directory =
        temporary_directory_for(context.files, arguments.output.options.path);
  }
  return options;
}

std::unique_ptr<ExampleSource> open_source(const CommandContext& context,
                                           const CreateArguments& arguments,
                                           const std::string& format) {
  const auto& paths = arguments.inputs.paths(context);
  const SourceOptions options = source_options(context, arguments, format);
  if (format == "json") return json_source(context, paths, options);
  if (format == "csv" || format == "tsv") return csv_source(context, paths, options);
  if (format == "libsvm") return libsvm_source(context, paths, options);
  if (format == "numpy") return numpy_source(context, paths, options);
  if (format == "images") return image_folder_source(context, paths, options);
  if (format == "webdataset") return webdataset_source(context, paths, options);
  if (is_table_format(format)) return table_source(context, paths, options);
  return cifar_source(context, paths);
}

// Returns the number of records if it must be known before the first record is written, else none.
std::vector<uint64_t> count_records(const CommandContext& context, ExampleSource& source,
                                    const CreateArguments& arguments) {
  if (!record_output_options(context, arguments.output).needs_counts()) return {};
  if (const auto count = source.count()) return {*count};
  require_readable_twice(context.files, arguments.inputs.paths(context), "--max-bytes, or a file");
  uint64_t count = 0;
  source.run([&](std::span<const std::byte>) { ++count; });
  return {count};
}

// --to-dir.
ExitCode create_each(const CommandContext& context, const CreateArguments& arguments,
                     const std::string& format) {
  if (!is_table_format(format)) throw UsageError("--to-dir is for parquet and arrow");
  (void)source_options(context, arguments, format);
  const RecordOutputOptions& output = arguments.output.options;
  if (output.many()) {
    throw UsageError(
        "--shards and --max-bytes are of all inputs together: they need -o, not --to-dir");
  }
  nlohmann::ordered_json options;
  if (output.compression) options["compression"] = to_string(*output.compression);
  if (output.level) options["level"] = *output.level;
  if (output.fast) options["level"] = "fast";
  if (output.threads > 0) options["threads"] = output.threads;
  const std::string& directory = arguments.source.temporary_directory;
  if (!directory.empty()) options["tmp_dir"] = directory;
  return convert_to_folder(context, "create", arguments.inputs.found(context), arguments.shards,
                           options, arguments.json);
}

ExitCode create(const CommandContext& context, const CreateArguments& arguments) {
  check_shard_output(arguments.shards, arguments.output.options.path, "Parquet or Arrow file");
  check_record_output(arguments.output);
  check_json_summary(arguments.json, arguments.output.options.path);
  const std::string format = format_of_inputs(context, arguments);
  if (!arguments.shards.folder.empty()) return create_each(context, arguments, format);
  const auto source = open_source(context, arguments, format);
  RecordOutput output(context.files, record_output_options(context, arguments.output),
                      count_records(context, *source, arguments));
  source->run([&](std::span<const std::byte> record) { output.write(record); });
  const std::vector<WrittenFile> written = output.close();
  if (arguments.json) {
    print_json_summary(context, {{"files", to_json(written)}});
  } else if (arguments.output.options.path != "-") {
    print_summary(context, describe(written));
  }
  return ExitCode::ok;
}

CommandAction define_create(CommandApp& app) {
  const auto arguments = std::make_shared<CreateArguments>();
  arguments->inputs.add_to(
      app, "INPUT", "Files to convert to records, or a folder of images; - is standard input");
  app.add_option("--from", arguments->format, "Input format (default: from the file name)")
      .one_of({"json", "csv", "tsv", "libsvm", "numpy", "images", "webdataset", "cifar", "parquet",
               "arrow"});
  app.add_option(
         "--types", arguments->types,
         "Types of CSV columns or JSON features, of int64, float, bytes and uint64 (0 to 2^64 "
         "- 1, stored as the int64 of the same bits): label=int64,x=float")
      .comma_separated()
      .type_name("NAME=TYPE,...");
  add_members(app, arguments->members);
  add_delimiter(app, arguments->delimiter);
  app.add_option("--encoding", arguments->source.encoding,
                 "Encoding of text, as iconv calls it: latin1, utf-16, ... (default: utf-8)")
      .type_name("NAME");
  app.add_option("--tmp-dir", arguments->source.temporary_directory,
                 "Directory for temporary files (default: the output's directory)")
      .type_name("DIR");
  add_record_output(app, arguments->output)
      .description("Output file, unless --to-dir is given; - is standard output");
  add_shard_output(app, arguments->shards, arguments->inputs, arguments->output.options.compression,
                   [] { return ".tfrecord"; })
      .description(
          "parquet and arrow, instead of -o: make a file from each input, in this folder: "
          "x.tfrecord of x.parquet");
  add_json_summary(app, arguments->json);
  return [arguments](const CommandContext& context) { return create(context, *arguments); };
}

}  // namespace

Command create_command() {
  return {
      .name = "create",
      .summary = "Makes TFRecord files of JSON, CSV, Parquet, arrays and images",
      .description =
          R"(json        One object per line (.json, .jsonl, .ndjson, also compressed): the output of "show
            --json" and "export", or {"name": value or [values]}; all lines must have the same form.
            Beside "features", keys that "show --json" doesn't print are errors.
            Whole numbers, true and false become int64, numbers with a decimal point float, strings
            and {"base64": "..."} bytes; null is a missing feature. A list of both kinds of numbers
            becomes float; a whole number in it that float can't represent exactly is an error,
            unless --types declares the feature as float. Some programs (jq 1.6) write 1.0 as 1:
            declare such features with --types. At most 1,000,000 feature names.
csv         A header line with the feature names, then one record per line (RFC 4180). A column of
            whole numbers, or of true and false, becomes int64, a column of numbers float (nan, inf
            and -inf, in upper or lower case, are numbers; so are lists of numbers of which one has
            a decimal point or an exponent), any other column bytes; --types overrides this. The
            types, and the cell that decided each, are printed on standard error. If a column
            becomes float without --types, a whole number in it that float can't represent exactly
            is an error. A quoted cell is text: a column with "7" becomes bytes, unless --types says
            otherwise. An empty cell is a missing feature, "" is empty bytes. A cell that contains a
            JSON list becomes a list, {"base64": "..."} becomes bytes, {"float": []} and
            {"bytes": []} lists without values. Lines end with LF or CR LF and have at most 100,000
            cells. A pipe is copied to a temporary file, unless --types declares all its columns.
            Cells are separated by commas, in .tsv (--from tsv) by tabs, or by --delimiter.
libsvm      LibSVM's and SVMlight's text (.libsvm, .svm), a record per line "LABEL qid:QUERY
            INDEX:VALUE ...": the features label (float), index (int64), value (float), and, where it
            is, qid (int64). Indexes stay as they are; what follows # is left out.
numpy       .npy and .npz: row i of every array goes to record i; a feature has the name of its
            array (.npy: of the file). Integers and booleans become int64, floats float, strings
            bytes. uint8 with more than
            one dimension per row, such as [N, 32, 32, 3], becomes bytes: the pixels of an image.
            Arrays in Fortran order are refused: convert them with numpy.ascontiguousarray().
images      A folder with one subfolder of JPEG, PNG, GIF, BMP or WebP files per class. The features
            are image/encoded, image/format, image/class/label (the classes in sorted order, from
            0), image/class/text, image/filename, and for JPEG and PNG image/height and image/width.
            Links that lead out of the folder are refused. The numbers of other files and of hidden
            files are reported on standard error. A file that has the name of an image but is not
            one is an error, as is a file that disappears before it is read. At most 1,000,000
            classes.
webdataset  Tar archives of WebDataset (.tar, also compressed by gzip or zstd): a record for each
            sample, that is for consecutive members of the same path up to the first dot of the
            name; the number of samples whose key an earlier one has, because their members don't
            follow one another, is reported. This path is the feature __key__; the content of each member is a feature of bytes
            that has the name of its extension, in lower case: jpg, cls, json; --members gives
            features other names, and that of cls the type int64. Members without a dot
            in the name, hidden ones and WebDataset's own (__NAME__) are left out, and their number
            is reported. Links, sparse files and devices are refused, as is an archive that was cut.
            At most 10,000 members and 1 GiB a sample.
parquet     Tables (.parquet, .pq; arrow: .arrow, .feather, .ipc), a record for each row: integers and
            booleans become int64, floats float, strings and binary data bytes, lists of these
            lists; a null is a missing feature. Other types are refused. Python reads them, as
            "tfrecord export --help" says, to a temporary file. --to-dir makes a file from each,
            x.tfrecord of x.parquet; --resume, --keep-going and the manifest are those of convert.
cifar       CIFAR-10 and CIFAR-100 archives, python or binary (.tar with cifar in the name): image,
            label. The batches, including the test batch, are written in the order of the archive;
            the order is reported on standard error. generate_cifar10_tfrecords writes training and
            test images to separate files.

Text is UTF-8, or has an --encoding. Without one, names of features in another
encoding are an error; values of CSV are written as their bytes, and the first of each column is
reported. Numbers are
rounded to the nearest float; a number that this would turn into an infinity, or into 0, is an error.

The features of every Example are sorted by name, so the same input gives the same files with any
number of threads. Several files appear together or not at all.)",
      .examples = R"(  tfrecord create people.jsonl -o people.tfrecords
  tfrecord create table.csv -o table.tfrecords.gz --types id=bytes
  tfrecord create a.csv -o a.tfrecords --delimiter ';' --encoding latin1
  tfrecord create arrays.npz -o arrays.tfrecords --shards 8
  tfrecord create photos/ -o photos.tfrecords --max-bytes 100MB
  tfrecord create 'shards/*.tar' -o shards.tfrecords
  tfrecord create tables/*.parquet -o rows.tfrecords --shards 8
  tfrecord create tables/*.parquet --to-dir rows --compression zstd
  tfrecord show --json a.gz | tfrecord create - --from json -o b.tfrecords)",
      .define = define_create};
}

}  // namespace recordpipe
