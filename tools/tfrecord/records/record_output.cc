#include "tools/tfrecord/records/record_output.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>
#include <nlohmann/json.hpp>

#include "dataset/io/deflate_block.h"
#include "recordpipe/atomic_file_set.h"
#include "recordpipe/crc32c.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/endian.h"
#include "recordpipe/parallel_deflate.h"
#include "recordpipe/record_format.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr size_t kBufferSize = size_t{256} << 10;
constexpr size_t kMostShards = 100'000;  // five digits

// Higher levels hardly help for images, floats and integers: CIFAR-10's records shrink to 92 % at
// every zlib level, and level 6 takes 50 % more time.
constexpr int kDefaultLevel = 1;
constexpr int kDefaultZstdLevel = 3;

ParallelDeflateOptions deflate_options(const RecordOutputArguments& arguments) {
  const Compression format = compression_for(arguments.path, arguments.compression);
  ParallelDeflateOptions options = {
      .format = format,
      .level = format == Compression::zstd ? kDefaultZstdLevel : kDefaultLevel,
      .threads = arguments.threads};
  if (arguments.level == "fast") {
    options.fast = true;
  } else if (!arguments.level.empty()) {
    options.level = std::stoi(arguments.level);
  }
  return options;
}

void check_level(const RecordOutputArguments& arguments) {
  if (arguments.level.empty()) return;
  const ParallelDeflateOptions options = deflate_options(arguments);
  if (options.format == Compression::none) {
    throw UsageError("--level without a compression: give --compression, or -o NAME.gz");
  }
  try {
    require_deflate_level(options.format, options.level);
  } catch (const Error& error) {
    throw UsageError("--level: " + error.reason());
  }
}

std::string shard_name(const std::string& path, size_t shard, size_t shards) {
  return fmt::format("{}-{:05}-of-{:05}", path, shard, shards);
}

// Returns the files that the result replaces: NAME, or the existing files NAME-00000-of-00003, ...;
// with --max-bytes, all files that it may replace.
std::vector<std::string> replaced_files(FileSystem& files, const RecordOutputArguments& arguments) {
  const std::string& output = arguments.path;
  if (!arguments.many()) return {output};
  constexpr std::string_view kNumber = "[0-9][0-9][0-9][0-9][0-9]";
  const std::string pattern =
      fmt::format("-{}-of-{}", kNumber,
                  arguments.shards > 0 ? fmt::format("{:05}", arguments.shards) : kNumber);
  const size_t name = output.find_last_of('/') + 1;  // npos + 1 is 0
  const std::string_view start = std::string_view(output).substr(name);
  const std::string folder = parent_directory(output);
  std::vector<std::string> found;
  if (!files.status(folder)) return found;  // writing there fails with the reason
  for (const std::string& other : files.list(folder)) {
    if (!other.starts_with(start)) continue;
    if (::fnmatch(pattern.c_str(), other.c_str() + start.size(), 0) != 0) continue;
    found.push_back(output.substr(0, name) + other);
  }
  return found;
}

// Buffers small writes, and counts bytes.
class BufferedSink final : public ByteSink {
 public:
  explicit BufferedSink(ByteSink& sink) : sink_(sink) {}

  void write(std::span<const std::byte> data) override {
    if (buffer_.size() + data.size() > kBufferSize) flush();
    if (data.size() > kBufferSize) {
      pass_on(data);
    } else {
      buffer_.append(reinterpret_cast<const char*>(data.data()), data.size());
    }
  }
  void close() override { flush(); }
  const std::string& path() const override { return sink_.path(); }
  uint64_t bytes() const { return bytes_; }

 private:
  void flush() {
    pass_on(std::as_bytes(std::span(buffer_)));
    buffer_.clear();
  }
  void pass_on(std::span<const std::byte> data) {
    if (data.empty()) return;
    bytes_ += data.size();
    sink_.write(data);
  }

  ByteSink& sink_;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

// A file being written.
class OpenFile {
 public:
  OpenFile(ByteSink& sink, const ParallelDeflateOptions& options) : buffer_(sink) {
    if (options.format != Compression::none) compressor_ = deflate_in_parallel(buffer_, options);
  }

  // `size` is the total size of the pieces.
  void write(std::span<const std::span<const std::byte>> pieces, size_t size) {
    ByteSink& first = compressor_ ? *compressor_ : static_cast<ByteSink&>(buffer_);
    first.write(encode_record_header(size));
    uint32_t crc = 0;
    for (const auto& piece : pieces) {
      crc = crc32c_extend(crc, piece);
      first.write(piece);
    }
    std::array<std::byte, kRecordFooterSize> footer;
    store_little_endian(mask_crc(crc), footer.data());
    first.write(footer);
    framed_ += size + kRecordOverhead;
    ++records_;
  }

  uint64_t framed() const { return framed_; }
  uint64_t records() const { return records_; }

  // Flushes all data.
  WrittenFile end() {
    if (compressor_) compressor_->close();
    buffer_.close();
    return {.path = {}, .records = records_, .bytes = buffer_.bytes()};
  }

 private:
  BufferedSink buffer_;
  std::unique_ptr<ByteSink> compressor_;
  uint64_t framed_ = 0;
  uint64_t records_ = 0;
};

}  // namespace

void add_record_output(CommandApp& app, RecordOutputArguments& arguments,
                       std::function<bool()> may_replace_input) {
  app.add_output(
         "-o,--output", arguments.path, "Output file (required); - is standard output",
         [&](FileSystem& files) { return replaced_files(files, arguments); },
         std::move(may_replace_input))
      .required();
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
  app.add_option("--shards", arguments.shards,
                 "Split into N files with equal numbers of records: FILE-00000-of-0000N, ...")
      .check(whole_number(1, kMostShards - 1))
      .type_name("N");
  app.add_option("--max-bytes", arguments.max_bytes,
                 "Start a new file before BYTES (uncompressed) would be exceeded")
      .transform(byte_size())
      .type_name("BYTES");
  add_threads(app, arguments.threads);
}

void check_record_output(const RecordOutputArguments& arguments) {
  if (arguments.shards > 0 && arguments.max_bytes > 0) {
    throw UsageError("--shards and --max-bytes are two ways to split: give one of them");
  }
  if (arguments.many() && arguments.path == "-") {
    throw UsageError("standard output can't be split: give -o a name");
  }
  check_level(arguments);
}

struct RecordOutput::State {
  State(const CommandContext& context, const RecordOutputArguments& given,
        std::optional<uint64_t> how_many)
      : arguments(given), total(how_many.value_or(0)), files(context.files) {
    if (!arguments.many()) stream = open_if_stream(context, arguments.path);
    begin_file();
  }

  std::string path_of(size_t file, size_t count) const {
    return arguments.many() ? shard_name(arguments.path, file, count) : arguments.path;
  }

  void begin_file() {
    // With --max-bytes, the number of files is unknown; the files get their names at the end.
    ByteSink& sink = stream ? *stream : files.begin(path_of(written.size(), arguments.shards));
    open.emplace(sink, deflate_options(arguments));
  }

  void end_file() {
    written.push_back(open->end());
    open.reset();
  }

  // The number of records up to the end of the current file.
  uint64_t shard_end() const { return total * (written.size() + 1) / arguments.shards; }

  void next_file_if_full(size_t size) {
    if (arguments.shards > 0) {
      while (records >= shard_end() && written.size() + 1 < arguments.shards) {
        end_file();
        begin_file();
      }
    } else if (arguments.max_bytes > 0 && open->records() > 0 &&
               open->framed() + size + kRecordOverhead > arguments.max_bytes) {
      end_file();
      begin_file();
    }
  }

  const RecordOutputArguments arguments;
  const uint64_t total;
  uint64_t records = 0;
  std::unique_ptr<ByteSink> stream;  // in place of files
  AtomicFileSet files;
  std::optional<OpenFile> open;
  std::vector<WrittenFile> written;
};

RecordOutput::RecordOutput(const CommandContext& context, const RecordOutputArguments& arguments,
                           std::optional<uint64_t> records)
    : state_(std::make_unique<State>(context, arguments, records)) {}

RecordOutput::~RecordOutput() = default;

void RecordOutput::write(std::span<const std::span<const std::byte>> pieces) {
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  state_->next_file_if_full(size);
  state_->open->write(pieces, size);
  ++state_->records;
}

std::vector<WrittenFile> RecordOutput::close() {
  State& state = *state_;
  if (state.arguments.shards > 0 && state.records != state.total) {
    throw Error({.kind = ErrorKind::corrupted,
                 .path = state.arguments.path,
                 .reason = fmt::format("{} records were counted, but {} were read", state.total,
                                       state.records),
                 .hint = "the input was changed while it was read"});
  }
  while (state.written.size() + 1 < state.arguments.shards) {  // shards without records
    state.end_file();
    state.begin_file();
  }
  state.end_file();
  std::vector<std::string> paths;
  for (size_t i = 0; i < state.written.size(); ++i) {
    paths.push_back(state.path_of(i, state.written.size()));
    state.written[i].path = paths.back();
  }
  if (state.stream) {
    state.stream->close();
  } else {
    state.files.commit(paths);
  }
  return std::move(state.written);
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
  }
  return files;
}

}  // namespace recordpipe
