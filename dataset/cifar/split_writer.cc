#include "dataset/cifar/split_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/cifar/cifar_example.h"
#include "dataset/parallel/for_each.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe {
namespace {

// Bytes framed per write: small enough for the cache.
constexpr size_t kPieceSize = size_t{256} << 10;

// Calls action(batch, row) for the records [begin, end) of the concatenated `ranges`.
template <class Action>
void for_each_record(const std::vector<BatchRange>& ranges, size_t begin, size_t end,
                     Action action) {
  size_t first = 0;  // index of the range's first record
  for (const BatchRange& range : ranges) {
    const size_t last = first + range.end - range.begin;
    for (size_t i = std::max(begin, first); i < std::min(end, last); ++i) {
      action(*range.batch, range.begin + i - first);
    }
    first = last;
  }
}

FinishedFile write_file(FileSystem& file_system, const std::string& path,
                        const std::vector<BatchRange>& ranges, size_t begin, size_t end,
                        const SplitWriteOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  FinishedFile result{.file = std::make_unique<AtomicFile>(file_system, path),
                      .records = end - begin};
  RecordWriter writer(*result.file, {options.compression, options.compression_level});
  std::string framed;
  uint64_t count = 0;
  const auto flush = [&] {
    throw_if_stopped(options.stop, path);
    writer.write_framed(std::as_bytes(std::span(framed)), std::exchange(count, 0));
    framed.clear();
  };
  std::string example;
  for_each_record(ranges, begin, end, [&](const CifarBatch& batch, size_t row) {
    example.clear();
    append_cifar_example(batch, row, example);
    append_framed(std::as_bytes(std::span(example)), framed);
    ++count;
    if (framed.size() >= kPieceSize) flush();
  });
  flush();
  writer.close();
  result.file->finish();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

std::vector<FinishedFile> write_split(FileSystem& file_system, const std::string& directory,
                                      std::string_view split, const std::vector<BatchRange>& ranges,
                                      const SplitWriteOptions& options) {
  size_t records = 0;
  for (const BatchRange& range : ranges) records += range.end - range.begin;

  std::vector<FinishedFile> files(options.shards);
  parallel::for_each(options.shards, available_cpus(), [&](uint64_t shard) {
    const std::string path = directory + "/" + split_file_name(split, shard, options.shards);
    files[shard] = write_file(file_system, path, ranges, records * shard / options.shards,
                              records * (shard + 1) / options.shards, options);
  });
  return files;
}

}  // namespace recordpipe
