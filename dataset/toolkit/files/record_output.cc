#include "dataset/toolkit/files/record_output.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fnmatch.h>

#include "dataset/io/deflate_block.h"
#include "recordpipe/atomic_file_set.h"
#include "recordpipe/crc32c.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/endian.h"
#include "recordpipe/parallel_deflate.h"
#include "recordpipe/record_format.h"

namespace recordpipe {
namespace {

constexpr size_t kBufferSize = size_t{256} << 10;

// Higher levels hardly help for images, floats and integers: CIFAR-10's records shrink to 92 % at
// every zlib level, and level 6 takes 50 % more time.
constexpr int kDefaultLevel = 1;
constexpr int kDefaultZstdLevel = 3;

ParallelDeflateOptions deflate_options(const RecordOutputOptions& options) {
  const int usual = options.compression == Compression::zstd ? kDefaultZstdLevel : kDefaultLevel;
  return {.format = options.compression,
          .level = options.level.value_or(usual),
          .fast = options.fast,
          .threads = options.threads};
}

std::string five_digits(size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
}

std::string shard_name(const std::string& path, size_t shard, size_t shards) {
  return path + '-' + five_digits(shard) + "-of-" + five_digits(shards);
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

Compression compression_for(std::string_view path, std::optional<Compression> given) {
  static const std::map<std::string_view, Compression> kEndings = {{".gz", Compression::gzip},
                                                                   {".gzip", Compression::gzip},
                                                                   {".zlib", Compression::zlib},
                                                                   {".zst", Compression::zstd},
                                                                   {".zstd", Compression::zstd}};
  if (given) return *given;
  for (const auto& [ending, compression] : kEndings) {
    if (path.ends_with(ending)) return compression;
  }
  return Compression::none;
}

void check_level(const RecordOutputOptions& options) {
  if (!options.level && !options.fast) return;
  if (options.compression == Compression::none) {
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "a level without a compression"});
  }
  require_deflate_level(options.compression, deflate_options(options).level);
}

std::vector<std::string> replaced_files(FileSystem& files, const RecordOutputOptions& options) {
  const std::string& output = options.path;
  if (!options.many()) return {output};
  const std::string number = "[0-9][0-9][0-9][0-9][0-9]";
  const std::string pattern =
      '-' + number + "-of-" + (options.shards > 0 ? five_digits(options.shards) : number);
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

struct RecordOutput::State {
  State(FileSystem& file_system, RecordOutputOptions given, std::optional<uint64_t> how_many)
      : options(std::move(given)), total(how_many.value_or(0)), files(file_system) {
    if (!options.many() && options.open_stream) stream = options.open_stream();
    begin_file();
  }

  std::string path_of(size_t file, size_t count) const {
    return options.many() ? shard_name(options.path, file, count) : options.path;
  }

  void begin_file() {
    // With --max-bytes, the number of files is unknown; the files get their names at the end.
    ByteSink& sink = stream ? *stream : files.begin(path_of(written.size(), options.shards));
    open.emplace(sink, deflate_options(options));
  }

  void end_file() {
    written.push_back(open->end());
    open.reset();
  }

  // The number of records up to the end of the current file.
  uint64_t shard_end() const { return total * (written.size() + 1) / options.shards; }

  void next_file_if_full(size_t size) {
    if (options.shards > 0) {
      while (records >= shard_end() && written.size() + 1 < options.shards) {
        end_file();
        begin_file();
      }
    } else if (options.max_bytes > 0 && open->records() > 0 &&
               open->framed() + size + kRecordOverhead > options.max_bytes) {
      end_file();
      begin_file();
    }
  }

  const RecordOutputOptions options;
  const uint64_t total;
  uint64_t records = 0;
  std::unique_ptr<ByteSink> stream;  // in place of files
  AtomicFileSet files;
  std::optional<OpenFile> open;
  std::vector<WrittenFile> written;
};

RecordOutput::RecordOutput(FileSystem& files, RecordOutputOptions options,
                           std::optional<uint64_t> records)
    : state_(std::make_unique<State>(files, std::move(options), records)) {}

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
  if (state.options.shards > 0 && state.records != state.total) {
    throw Error({.kind = ErrorKind::corrupted,
                 .path = state.options.path,
                 .reason = std::to_string(state.total) + " records were counted, but " +
                           std::to_string(state.records) + " were read",
                 .hint = "the input was changed while it was read"});
  }
  while (state.written.size() + 1 < state.options.shards) {  // shards without records
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

}  // namespace recordpipe
