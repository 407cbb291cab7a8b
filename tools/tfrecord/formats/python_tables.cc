#include "tools/tfrecord/formats/python_tables.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "dataset/base/lower_case.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/record/record_reader.h"
#include "tools/support/process/child_process.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/shard_output.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

using Json = nlohmann::ordered_json;

std::string interpreter() {
  const char* const given = std::getenv("RECORDPIPE_PYTHON");
  return given == nullptr || *given == '\0' ? "python3" : given;
}

// The interpreter can't be run, or has no such module.
Error without_package(const std::string& python) {
  return Error({.kind = ErrorKind::unsupported,
                .reason = fmt::format("Parquet and Arrow files need the Python package recordpipe, "
                                      "which {} can't run",
                                      printable(python)),
                .hint = "install it with pyarrow (in a clone: pip install '.[arrow]'), and set "
                        "RECORDPIPE_PYTHON to the python3 that has it"});
}

std::string as_text(const Json& arguments) {
  try {
    return arguments.dump();
  } catch (const Json::type_error&) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "a name or an option is not UTF-8, which Python's JSON must be"});
  }
}

// A path that Python does not take for one in the home folder.
std::string path_in_python(const std::string& path) {
  return path == "~" || path.starts_with("~/") ? "./" + path : path;
}

Json paths_in_python(const std::vector<std::string>& paths) {
  Json all = Json::array();
  for (const std::string& path : paths) all.push_back(path_in_python(path));
  return all;
}

// A program that has ended reads no further, which its answer explains.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    text.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
}

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 4096> part;
  while (true) {
    const ssize_t got = ::read(descriptor, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
  }
}

Error error_of(const Json& parts) {
  Error::Parts error;
  const std::string kind = parts.value("kind", "");
  for (int i = 0; i <= static_cast<int>(ErrorKind::cancelled); ++i) {
    if (to_string(static_cast<ErrorKind>(i)) == kind) error.kind = static_cast<ErrorKind>(i);
  }
  if (parts.at("path").is_string()) error.path = parts.at("path");
  if (parts.at("offset").is_number()) error.offset = parts.at("offset").get<uint64_t>();
  error.reason = parts.value("reason", "");
  error.hint = parts.value("hint", "");
  return Error(std::move(error));
}

bool has_package(const std::string& python) {
  const std::string test = "import importlib.util as u; exit(not u.find_spec('recordpipe'))";
  Pipe input;  // at its end
  input.close_write_end();
  return wait_for_child(start_child({python, "-P", "-c", test}, {.input = input.read_end()})) == 0;
}

// Calls a function of the package, and returns its report. -P: modules in the working folder are
// not those that Python means.
Json call_python(const CommandContext& context, const std::string& function, Json arguments) {
  if (const auto directory = arguments.find("tmp_dir"); directory != arguments.end()) {
    *directory = path_in_python(directory->get<std::string>());
  }
  const std::string python = interpreter();
  const std::string text = as_text(arguments);
  Pipe input;
  Pipe output;
  pid_t child = -1;
  try {
    child =
        start_child({python, "-P", "-m", "recordpipe", function},
                    {.input = input.read_end(), .output = output.write_end(), .own_group = true});
  } catch (const Error&) {
    throw without_package(python);
  }
  std::string answer;
  {
    const std::stop_callback on_stop(context.stop, [child] { ::kill(child, SIGINT); });
    input.close_read_end();
    output.close_write_end();
    write_all(input.write_end(), text);
    input.close_write_end();
    answer = read_to_end(output.read_end());
  }
  const int status = wait_for_child(child);
  throw_if_stopped(context.stop, "");
  const Json report = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) {
    if (!has_package(python)) throw without_package(python);
    throw Error({.kind = ErrorKind::io,
                 .reason = fmt::format("{} has ended with exit status {}, and without an answer",
                                       printable(python), status)});
  }
  if (status != 0) throw error_of(report.at("error"));
  return report;
}

ShardCounts counts_of(const Json& report) {
  return {.records = 0,
          .skipped = {.regions = report.at("regions_skipped"),
                      .bytes = report.at("bytes_skipped"),
                      .compressed_bytes = report.at("compressed_bytes_skipped")},
          .records_skipped = report.at("records_skipped")};
}

// Names what was skipped.
SkippedDamage skipped_in(const CommandContext& context, const std::string& command,
                         const Json& report) {
  SkippedDamage skipped(context, command);
  const DamageSink sink = skipped.sink();
  for (const Json& region : report.at("skipped")) {
    sink(region.at("path"), {.begin = region.at("begin"),
                             .end = region.at("end"),
                             .reason = region.at("reason"),
                             .hint = region.at("hint")});
  }
  skipped.set_counts(counts_of(report).skipped);
  return skipped;
}

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& directory)
      : path_(directory + "/.recordpipe-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      throw system_error(errno, "make a folder in", directory);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Python writes all records to a temporary file first.
class TableSource final : public ExampleSource {
 public:
  TableSource(const CommandContext& context, std::vector<std::string> paths,
              const std::string& directory)
      : context_(context), paths_(std::move(paths)), folder_(directory) {}

  std::optional<uint64_t> count() override {
    if (!count_) {
      const Json report = call_python(
          context_, "convert",
          {{"sources", paths_in_python(paths_)}, {"target", path_in_python(records())}});
      count_ = report.at("files").at(0).at("records");
    }
    return count_;
  }

  void run(const Consume& consume) override {
    (void)count();
    RecordReader reader(context_.files, records());
    while (const auto record = reader.read()) consume(record->data);
  }

 private:
  std::string records() const { return folder_.path() + "/records"; }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const TemporaryFolder folder_;
  std::optional<uint64_t> count_;
};

}  // namespace

std::string table_format_of(std::string_view path) {
  const std::string name = lower_case(path);
  for (const std::string_view ending : {".parquet", ".pq"}) {
    if (name.ends_with(ending)) return "parquet";
  }
  for (const std::string_view ending : {".arrow", ".feather", ".ipc"}) {
    if (name.ends_with(ending)) return "arrow";
  }
  return "";
}

ExitCode convert_to_folder(const CommandContext& context, const std::string& command,
                           const FilesAndFolders& inputs, const ShardJob& job, Json options,
                           bool json) {
  const std::string folder = path_in_python(job.folder);
  options["sources"] = paths_in_python(inputs.files);
  options["folders"] = paths_in_python(inputs.folders);
  options["folder"] = folder;
  options["resume"] = job.resume;
  options["keep_going"] = job.keep_going;
  const Json report = call_python(context, "convert_to_dir", options);
  ShardReports reports(context, command, job.folder, json);
  for (const Json& shard : report.at("shards")) {
    const bool was_there = shard.at("was_there");
    if (!was_there) (void)skipped_in(context, command, shard);
    ShardRecord record = {.counts = counts_of(shard), .bytes = shard.at("bytes")};
    record.counts.records = shard.at("records");
    record.output = shard.at("path").get<std::string>().substr(folder.size() + 1);
    reports.add(shard.at("input"), record, was_there);
  }
  const Json& failed = report.at("failed");
  for (const Json& shard : failed) reports.add_failure(shard.at("input"), error_of(shard["error"]));
  return reports.sum_up(failed.empty(), job.keep_going);
}

ExitCode export_tables(const CommandContext& context, const FilesAndFolders& inputs,
                       TableExport tables) {
  require_readable_twice(context.files, inputs.files, "--to json");
  Json& arguments = tables.options;
  if (!tables.job.folder.empty()) {
    arguments["format"] = tables.format;
    return convert_to_folder(context, "export", inputs, tables.job, arguments, tables.json);
  }
  if (table_format_of(tables.output) != tables.format) {
    throw UsageError(
        fmt::format("--to {}: the name of -o should end in .{}", tables.format, tables.format));
  }
  arguments["sources"] = paths_in_python(inputs.files);
  arguments["target"] = path_in_python(tables.output);
  const Json report = call_python(context, "convert", arguments);
  const uint64_t records = report.at("files").at(0).at("records");
  const SkippedDamage skipped = skipped_in(context, "export", report);
  skipped.sum_up();
  if (!tables.json) {
    print_summary(context, fmt::format("wrote {} to {}", counted(records, "record"),
                                       printable(tables.output)));
    return ExitCode::ok;
  }
  Json summary = {{"path", tables.output}, {"format", tables.format}, {"records", records}};
  if (tables.skip_corrupt) {
    skipped.add_to(summary);
    summary["records_skipped"] = counts_of(report).records_skipped;
  }
  print_json_summary(context, summary);
  return ExitCode::ok;
}

std::unique_ptr<ExampleSource> table_source(const CommandContext& context,
                                            std::vector<std::string> paths,
                                            const SourceOptions& options) {
  return std::make_unique<TableSource>(context, std::move(paths), options.temporary_directory);
}

}  // namespace recordpipe
