#include "tools/tfrecord/io/inputs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "recordpipe/error.h"
#include "recordpipe/glob.h"
#include "recordpipe/http/url.h"
#include "recordpipe/record_format.h"
#include "recordpipe/record_index.h"
#include "recordpipe/stop.h"
#include "recordpipe/stream_compression.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/io/standard_streams.h"

namespace recordpipe {
namespace {

// Checks for a stop request before each read of a file; the reads never block for long.
class StoppableSource final : public ByteSource {
 public:
  StoppableSource(std::unique_ptr<ByteSource> source, std::stop_token stop)
      : source_(std::move(source)), stop_(std::move(stop)) {}

  size_t read(std::span<std::byte> out) override {
    throw_if_stopped(stop_, path());
    return source_->read(out);
  }
  const std::string& path() const override { return source_->path(); }

 private:
  std::unique_ptr<ByteSource> source_;
  const std::stop_token stop_;
};

// Returns whether `path` is FILE.idx and FILE is among these sorted paths: then `path` is FILE's
// index and not an input.
bool is_index_of_one(const std::string& path, const std::vector<std::string>& sorted) {
  const std::string ending = record_index_path("");
  return path.ends_with(ending) &&
         std::ranges::binary_search(sorted, path.substr(0, path.size() - ending.size()));
}

}  // namespace

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
  std::vector<std::string> paths;
  for (const std::string& path : given) {
    const bool is_name = is_http_url(path) || is_standard_input(path) ||
                         !has_glob_characters(path) || files.status(path).has_value();
    if (is_name) {
      paths.push_back(path);
      continue;
    }
    const std::vector<std::string> found = glob(files, path);
    if (found.empty()) {
      throw Error({.kind = ErrorKind::not_found, .path = path, .reason = "no file matches"});
    }
    std::ranges::copy_if(found, std::back_inserter(paths),
                         [&](const std::string& name) { return !is_index_of_one(name, found); });
  }
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

std::unique_ptr<ByteSource> open_input(const CommandContext& context, const std::string& path) {
  if (is_standard_input(path)) return standard_input(context.stop);
  if (!is_http_url(path)) {
    const auto status = context.files.status(path);
    if (status && status->kind == FileKind::other) return open_device_source(path, context.stop);
  }
  return std::make_unique<StoppableSource>(context.files.open_source(path), context.stop);
}

RecordReader open_records(const CommandContext& context, const std::string& path,
                          const RecordReadOptions& reading, InputProgress& progress) {
  return RecordReader(progress.counted(open_input(context, path)), reading);
}

std::unique_ptr<RandomAccessFile> open_random_input(FileSystem& files, const std::string& path) {
  if (is_standard_input(path)) return nullptr;
  try {
    const auto status = files.status(path);
    if (!status || status->kind != FileKind::regular) return nullptr;
    return files.open_random(path);
  } catch (const Error& error) {
    // The server sends no size or doesn't support ranges.
    if (error.kind() == ErrorKind::unsupported) return nullptr;
    throw;
  }
}

bool can_be_mapped(FileSystem& files, const std::string& path, const RecordReadOptions& reading) {
  if (is_standard_input(path) || is_http_url(path)) return false;
  const auto status = files.status(path);
  return status && status->kind == FileKind::regular &&
         detect_compression(files, path, reading) == Compression::none;
}

Compression compression_of(const RandomAccessFile& file, const RecordReadOptions& reading) {
  std::array<std::byte, kRecordHeaderSize> head;
  const size_t size = file.read_at(0, head);
  return detect_record_compression(std::span(head).first(size), reading);
}

bool index_fits(FileSystem& files, const std::string& path, const RandomAccessFile& file) {
  const std::string index_path = record_index_path(path);
  try {
    const auto status = files.status(index_path);
    if (!status || status->kind != FileKind::regular) return false;  // opening a FIFO would block
    RecordIndexReader index(files, index_path);
    check_record_index(index, file, IndexedHeaders::some);
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    return false;
  }
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
