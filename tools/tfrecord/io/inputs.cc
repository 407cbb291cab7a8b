#include "tools/tfrecord/io/inputs.h"

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/io/standard_streams.h"

namespace recordpipe {

void add_files(CommandApp& app, FileArguments& files) {
  files.add_to(
      app, "FILE",
      "Files to read: paths, folders, patterns, http(s), s3 and gs URLs; - is standard input");
}

void add_inputs(CommandApp& app, InputArguments& arguments) {
  add_files(app, arguments.files);
  add_reading_options(app, arguments.reading);
}

void add_format_options(ArgumentParser& app, RecordReadOptions& reading) {
  app.add_option_function(
         "--input-compression",
         [&reading](const std::string& name) { reading.compression = compression_named(name); },
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
    throw UsageError((is_standard_input(path) ? "standard input" : printable(shown_word(path))) +
                     " must be read twice, which requires a file: "
                     "use " +
                     instead);
  }
}

FileWork work_of(const CommandContext& context) {
  return {.files = context.files,
          .stop = context.stop,
          .open_stream = [stop = context.stop](const std::string& path) {
            return is_standard_input(path) ? standard_input(stop) : open_device_source(path, stop);
          }};
}

FileWork work_of(const CommandContext& context, InputProgress& progress) {
  FileWork work = work_of(context);
  work.advance = progress.counter();
  work.begin_pass = [&progress](const char* activity) { progress.begin_again(activity); };
  return work;
}

FileWork work_of(const CommandContext& context, InputProgress& progress,
                 const std::string& command) {
  FileWork work = work_of(context, progress);
  work.tell = [&context, command](const std::string& what) { print_note(context, command, what); };
  return work;
}

void print_note(const CommandContext& context, const std::string& command,
                const std::string& what) {
  if (!what.empty()) context.progress.warn(fmt::format("tfrecord {}: {}", command, what));
}

std::unique_ptr<ByteSource> open_input(const CommandContext& context, const std::string& path) {
  return open_uncounted(work_of(context), path);
}

namespace {

// Calls `report`; prints the Error that it throws.
ExitCode reported(const CommandContext& context, std::string_view command,
                  const std::function<ExitCode()>& report,
                  const std::function<ExitCode(ErrorKind)>& code_of) {
  try {
    return report();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    context.progress.warn(fmt::format("tfrecord {}: {}", command, text_of(error)));
    return code_of(error.kind());
  }
}

}  // namespace

ExitCode for_each_input(const CommandContext& context, std::string_view command,
                        const std::vector<std::string>& paths,
                        const std::function<ExitCode(const std::string& path)>& action,
                        const std::function<ExitCode(ErrorKind)>& code_of) {
  ExitCode status = ExitCode::ok;
  for (const std::string& path : paths) {
    status = combined(status, reported(
                                  context, command, [&] { return action(path); }, code_of));
  }
  return status;
}

ExitCode for_each_input_at_once(const CommandContext& context, std::string_view command,
                                const std::vector<std::string>& paths, size_t threads,
                                const std::function<InputReport(const FileShare& share)>& action,
                                const std::function<ExitCode(ErrorKind)>& code_of,
                                TurnOf* turn_of) {
  ExitCode status = ExitCode::ok;
  for_each_file<InputReport>(
      work_of(context), paths, threads, turn_of,
      [&](FileShare share) -> InputReport {
        try {
          return action(share);
        } catch (const Error& error) {
          return [error]() -> ExitCode { throw error; };
        }
      },
      [&](const InputReport& report) {
        status = combined(status, reported(context, command, report, code_of));
        return true;
      });
  return status;
}

}  // namespace recordpipe
