#include "tools/tfrecord/io/inputs.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "recordpipe/error.h"
#include "recordpipe/http/url.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/io/standard_streams.h"

namespace recordpipe {

void add_files(CommandApp& app, std::vector<std::string>& files) {
  app.add_input("FILE", files, "Files to read: paths, patterns, http(s) URLs; - is standard input")
      .required()
      .type_name("");
}

void add_inputs(CommandApp& app, InputArguments& arguments) {
  add_files(app, arguments.files);
  add_reading_options(app, arguments.reading);
}

void add_format_options(ArgumentParser& app, RecordReadOptions& reading) {
  static const std::map<std::string, std::optional<Compression>> kCompressions = {
      {"auto", std::nullopt},
      {"none", Compression::none},
      {"gzip", Compression::gzip},
      {"zlib", Compression::zlib},
      {"zstd", Compression::zstd}};
  app.add_option_function(
         "--input-compression",
         [&reading](const std::string& name) { reading.compression = kCompressions.at(name); },
         "Compression of the input (auto: detected from the first bytes)")
      .one_of({"auto", "none", "gzip", "zlib", "zstd"});
  app.add_option("--max-record-size", reading.max_record_size, "Maximum record size in a stream")
      .transform(byte_size())
      .type_name("BYTES")
      .default_text("1GiB");
}

void add_reading_options(ArgumentParser& app, RecordReadOptions& reading) {
  add_format_options(app, reading);
  app.add_flag_function(
      "--no-crc", [&reading] { reading.crc = CrcCheck::never; }, "Do not check CRCs");
}

bool is_standard_input(std::string_view path) { return path == "-"; }

std::vector<std::string> expand_inputs(FileSystem& files, const std::vector<std::string>& given) {
  std::vector<std::string> paths = expand_patterns(files, given);
  if (std::count_if(paths.begin(), paths.end(), is_standard_input) > 1) {
    throw UsageError("standard input can be read once only");
  }
  return paths;
}

bool is_read_once(FileSystem& files, const std::string& path) {
  if (is_standard_input(path)) return true;
  const auto status = files.status(path);
  return status && status->kind == FileKind::other;
}

void require_readable_twice(FileSystem& files, const std::vector<std::string>& paths,
                            const std::string& instead) {
  for (const std::string& path : paths) {
    // If the path doesn't exist or is a folder, opening it reports the error.
    if (!is_read_once(files, path)) continue;
    throw UsageError((is_standard_input(path) ? "standard input" : printable(path)) +
                     " must be read twice, which requires a file: "
                     "use " +
                     instead);
  }
}

FileWork work_of(const CommandContext& context) {
  return {.files = context.files,
          .stop = context.stop,
          .is_stream =
              [&files = context.files](const std::string& path) {
                return !is_http_url(path) && is_read_once(files, path);
              },
          .open_stream =
              [stop = context.stop](const std::string& path) {
                return is_standard_input(path) ? standard_input(stop)
                                               : open_device_source(path, stop);
              }};
}

FileWork work_of(const CommandContext& context, InputProgress& progress) {
  FileWork work = work_of(context);
  work.advance = progress.counter();
  work.begin_pass = [&progress](const char* activity) { progress.begin_again(activity); };
  return work;
}

std::unique_ptr<ByteSource> open_input(const CommandContext& context, const std::string& path) {
  return open_uncounted(work_of(context), path);
}

RecordReader open_records(const CommandContext& context, const std::string& path,
                          const RecordReadOptions& reading, InputProgress& progress) {
  return RecordReader(open_counted(work_of(context, progress), path), reading);
}

ExitCode for_each_input(const CommandContext& context, std::string_view command,
                        const std::vector<std::string>& paths,
                        const std::function<ExitCode(const std::string& path)>& action,
                        const std::function<ExitCode(ErrorKind)>& code_of) {
  ExitCode status = ExitCode::ok;
  for (const std::string& path : paths) {
    try {
      status = combined(status, action(path));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::cancelled) throw;
      context.progress.warn(fmt::format("tfrecord {}: {}", command, text_of(error)));
      status = combined(status, code_of(error.kind()));
    }
  }
  return status;
}

}  // namespace recordpipe
