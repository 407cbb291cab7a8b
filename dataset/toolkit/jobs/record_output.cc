#include "dataset/toolkit/jobs/record_output.h"

#include <iterator>
#include <utility>

#include "dataset/base/require.h"
#include "dataset/io/compression/deflate_block.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/atomic_file_set.h"
#include "recordpipe/io/parallel_deflate.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe {
namespace {

constexpr size_t kOutputBufferSize = size_t{256} << 10;
// For many files at a time.
constexpr size_t kAllBuffers = size_t{16} << 20;
constexpr size_t kAllBlocks = size_t{32} << 20;
constexpr size_t kMinBlock = size_t{64} << 10;

// Higher levels hardly help for images, floats and integers: CIFAR-10's records shrink to 92 % at
// every zlib level, and level 6 takes 50 % more time.
constexpr int kDefaultLevel = 1;
constexpr int kDefaultZstdLevel = 3;

size_t files_at_once(const RecordOutputOptions& options) {
  const size_t shards = options.order == ShardOrder::round_robin ? options.shards : 1;
  return std::max<size_t>(1, shards) * options.sets();
}

ParallelDeflateOptions deflate_options(const RecordOutputOptions& options) {
  const Compression format = compression_for(options.path, options.compression);
  const int usual = format == Compression::zstd ? kDefaultZstdLevel : kDefaultLevel;
  size_t block = kDeflateBlockSize;
  while (block > kMinBlock && files_at_once(options) > kAllBlocks / block) block /= 2;
  return {.format = format,
          .level = options.level.value_or(usual),
          .fast = options.fast,
          .threads = options.threads,
          .block_size = block};
}

class CountingSink final : public ByteSink {
 public:
  explicit CountingSink(ByteSink& sink) : sink_(sink) {}

  void write(std::span<const std::byte> data) override {
    bytes_ += data.size();
    sink_.write(data);
  }
  void close() override {}
  const std::string& path() const override { return sink_.path(); }
  uint64_t bytes() const { return bytes_; }

 private:
  ByteSink& sink_;
  uint64_t bytes_ = 0;
};

// A file being written.
class OpenFile {
 public:
  OpenFile(ByteSink& sink, size_t buffer, const ParallelDeflateOptions& options,
           const std::shared_ptr<DeflateThreads>& threads)
      : sink_(sink),
        counted_(sink),
        compressor_(options.format == Compression::none
                        ? nullptr
                        : deflate_in_parallel(counted_, options, threads)),
        writer_(compressor_ ? *compressor_ : counted_, {.buffer_size = buffer}) {}

  RecordWriter& writer() { return writer_; }
  ByteSink& sink() { return sink_; }

  // Flushes all data.
  WrittenFile end() {
    writer_.finish();
    if (compressor_) compressor_->close();
    return {.path = {}, .records = writer_.records(), .bytes = counted_.bytes()};
  }

 private:
  ByteSink& sink_;
  CountingSink counted_;
  std::unique_ptr<ByteSink> compressor_;
  RecordWriter writer_;
};

}  // namespace

void check_level(const RecordOutputOptions& options) {
  if (!options.level && !options.fast) return;
  const ParallelDeflateOptions deflate = deflate_options(options);
  require(deflate.format != Compression::none, "a level without a compression");
  require_deflate_level(deflate.format, deflate.level);
}

void check_names(const RecordOutputOptions& options) {
  const std::string_view name =
      std::string_view(options.path).substr(options.path.find_last_of('/') + 1);  // npos + 1 is 0
  const bool is_folder = name == "." || name == "..";
  if (options.path.empty() || !(is_folder || name.empty())) return;
  const bool has_splits = !options.split.parts.empty();
  if ((!options.many() && !has_splits) || (has_splits && !is_folder)) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = options.path,
               .reason = "the name of a folder, where the names of several files would begin",
               .hint = has_splits ? "the names of splits alone: give " + options.path + "/"
                                  : "put a name behind it"});
}

void check_files_at_once(const RecordOutputOptions& options) {
  if (files_at_once(options) <= RecordOutputOptions::kMaxAtOnce) return;
  throw Error({.kind = ErrorKind::limit_exceeded,
               .path = options.path,
               .reason = std::to_string(files_at_once(options)) +
                         " files would be written at a time: more than " +
                         std::to_string(RecordOutputOptions::kMaxAtOnce),
               .hint = "fill the shards one after another, in blocks"});
}

// The files of one split; of all records if there are no splits.
struct FileSet {
  uint64_t total = 0;                                // records that will be written
  uint64_t records = 0;                              // written so far
  std::vector<std::unique_ptr<OpenFile>> open = {};  // one, or all shards in round-robin order
  std::vector<WrittenFile> written = {};
};

struct RecordOutput::State {
  State(FileSystem& file_system, RecordOutputOptions given, const std::vector<uint64_t>& counts)
      : options(std::move(given)),
        at_once(files_at_once(options)),
        deflate(deflate_options(options)),
        files(file_system),
        sets(options.sets()) {
    check_names(options);
    check_files_at_once(options);
    if (options.max_bytes > 0 && !file_system.can_map(options.path)) {
      throw Error({.kind = ErrorKind::unsupported,
                   .path = options.path,
                   .reason = "objects get their names before their number is known, so they can't "
                             "be split by size",
                   .hint = "give the number of shards"});
    }
    for (size_t i = 0; i < std::min(sets.size(), counts.size()); ++i) sets[i].total = counts[i];
    if (!options.many() && options.split.parts.empty() && options.open_stream) {
      stream = options.open_stream();
    }
    std::shared_ptr<DeflateThreads> threads;
    if (at_once > 1 && deflate.format != Compression::none) {
      threads = shared_deflate_threads(deflate);
    }
    const size_t shards = options.order == ShardOrder::round_robin ? options.shards : 0;
    for (size_t split = 0; split < sets.size(); ++split) {
      for (size_t file = 0; file < std::max<size_t>(1, shards); ++file) begin_file(split, threads);
    }
    shared = threads;
  }

  void begin_file(size_t split, const std::shared_ptr<DeflateThreads>& threads) {
    FileSet& set = sets[split];
    const size_t number = set.written.size() + set.open.size();
    // With max_bytes, the number of files is unknown; the files get their names at the end.
    ByteSink& sink =
        stream ? *stream : files.begin_beside(output_path(options, split, number, options.shards));
    begun.emplace_back(split, number);
    set.open.push_back(std::make_unique<OpenFile>(
        sink, std::min(kOutputBufferSize, kAllBuffers / at_once), deflate, threads));
  }

  void end_first(FileSet& set) {
    OpenFile& file = *set.open.front();
    set.written.push_back(file.end());
    if (!stream) files.finish(file.sink());
    set.open.erase(set.open.begin());
  }

  void begin_next(size_t split) {
    const std::shared_ptr<DeflateThreads> threads = shared.lock();  // of the open files
    end_first(sets[split]);
    begin_file(split, threads);
  }

  // Returns the file for the next record, of this size.
  RecordWriter& file_for(size_t split, size_t size) {
    FileSet& set = sets[split];
    if (set.open.size() > 1) return set.open[set.records % set.open.size()]->writer();
    if (options.needs_counts()) {
      while (set.written.size() + 1 < options.shards &&
             set.records >= set.total * (set.written.size() + 1) / options.shards) {
        begin_next(split);
      }
    } else if (const RecordWriter& writer = set.open.front()->writer();
               options.max_bytes > 0 && writer.records() > 0 &&
               writer.bytes() + size + kRecordOverhead > options.max_bytes) {
      begin_next(split);
    }
    return set.open.front()->writer();
  }

  const RecordOutputOptions options;
  const size_t at_once;
  const ParallelDeflateOptions deflate;
  std::unique_ptr<ByteSink> stream;  // in place of files
  AtomicFileSet files;
  std::vector<std::pair<size_t, size_t>> begun;  // the split and number of each of `files`
  std::weak_ptr<DeflateThreads> shared;          // by files of several splits
  std::vector<FileSet> sets;                     // by split
};

RecordOutput::RecordOutput(FileSystem& files, RecordOutputOptions options,
                           std::vector<uint64_t> records)
    : state_(std::make_unique<State>(files, std::move(options), records)) {}

RecordOutput::~RecordOutput() = default;

void RecordOutput::write(std::span<const std::span<const std::byte>> pieces, size_t split) {
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  state_->file_for(split, size).write_pieces(pieces);
  ++state_->sets[split].records;
}

std::vector<WrittenFile> RecordOutput::close() {
  State& state = *state_;
  for (size_t split = 0; split < state.sets.size(); ++split) {
    FileSet& set = state.sets[split];
    if (state.options.needs_counts() && set.records != set.total) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = state.options.path,
                   .reason = std::to_string(set.total) + " records were counted, but " +
                             std::to_string(set.records) + " were read",
                   .hint = "the input was changed while it was read"});
    }
    // Shards without records.
    while (set.written.size() + set.open.size() < state.options.shards) state.begin_next(split);
    while (!set.open.empty()) state.end_first(set);
    for (size_t i = 0; i < set.written.size(); ++i) {
      set.written[i].path = output_path(state.options, split, i, set.written.size());
      if (!state.options.split.parts.empty()) {
        set.written[i].split = state.options.split.parts[split].name;
      }
    }
  }
  if (state.stream) {
    state.stream->close();
  } else {
    std::vector<std::string> paths;
    for (const auto& [split, file] : state.begun) {
      paths.push_back(state.sets[split].written[file].path);
    }
    state.files.commit(paths);
  }
  std::vector<WrittenFile> all;
  for (FileSet& set : state.sets) std::ranges::move(set.written, std::back_inserter(all));
  return all;
}

}  // namespace recordpipe
