// Measures the speed of decoding Examples into columns, compared with copying the same fields from
// known positions.
//
// usage: decode_bench DATA_DIR
//
// Uses one thread; the records and the reused batches of 128 are in memory. Cases alternate; the
// median of the rounds is reported.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/example/example_view.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRounds = 11;
constexpr size_t kBatchSize = 128;

// Keeps the compiler from removing the work.
volatile int64_t sink;

// The positions of an Example's fields.
struct Located {
  std::span<const std::byte> image;
  int64_t label;
};

std::vector<Located> locate(const std::vector<Record>& records) {
  std::vector<Located> located;
  for (const Record& record : records) {
    located.push_back({find_feature(record.data, "image")->single_bytes().value(),
                       find_feature(record.data, "label")->single_int64().value()});
  }
  return located;
}

// The minimal work: the images concatenated, their start positions, the labels.
struct BareBatch {
  std::vector<std::byte> images;
  std::vector<int64_t> splits;
  std::vector<int64_t> labels;

  void fill(std::span<const Located> rows) {
    size_t bytes = 0;
    for (const Located& row : rows) bytes += row.image.size();
    images.resize(bytes);
    splits.resize(rows.size() + 1);
    labels.resize(rows.size());
    std::byte* to = images.data();
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(to, rows[i].image.data(), rows[i].image.size());
      to += rows[i].image.size();
      splits[i + 1] = to - images.data();
      labels[i] = rows[i].label;
    }
  }
};

template <class T, class Work>
double seconds(const std::vector<T>& all, Work work) {
  const Clock::time_point start = Clock::now();
  for (size_t first = 0; first < all.size(); first += kBatchSize) {
    work(std::span(all).subspan(first, std::min(kBatchSize, all.size() - first)));
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double>& values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(const std::string& data_dir) {
  std::vector<MappedRecordFile> files;
  std::vector<Record> records;
  for (const std::string& path : cifar10_files(data_dir, Cifar10Subset::train)) {
    files.emplace_back(posix_file_system(), path);
    for (size_t i = 0; i < files.back().size(); ++i) records.push_back(files.back().read(i));
  }
  const std::vector<Located> located = locate(records);
  const ExampleCollator collator(
      {{"image", FixedLen{FeatureKind::bytes}}, {"label", FixedLen{FeatureKind::int64s}}});
  ExampleBatch batch;
  BareBatch bare;

  std::vector<double> measured, floor, ratios;
  for (size_t round = 0; round < kRounds + 1; ++round) {
    const double floor_seconds = seconds(located, [&](std::span<const Located> rows) {
      bare.fill(rows);
      sink = bare.labels.back();
    });
    const double our_seconds = seconds(records, [&](std::span<const Record> rows) {
      batch = parse_example(rows, collator, std::move(batch));
      sink = batch.dense<FeatureKind::int64s>("label").values.back();
    });
    if (round == 0) continue;  // warm-up
    floor.push_back(floor_seconds);
    measured.push_back(our_seconds);
    ratios.push_back(floor_seconds / our_seconds);
  }
  const double per_second = 1e-6 * static_cast<double>(records.size());
  const double ratio = median(ratios);
  fmt::print("  {:<46} {:>8.3f} M/s, floor {:>8.3f}, ratio {:.2f} ({:.2f} to {:.2f}; goal: {})\n",
             "decode image and label of every Example", per_second / median(measured),
             per_second / median(floor), ratio, ratios.front(), ratios.back(), "at least 0.5");
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DATA_DIR\n", argv[0]);
    return 2;
  }
  try {
    recordpipe::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}
