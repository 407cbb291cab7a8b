// Measures the speed of the input pipeline, compared with bare loops that do the minimal work.
//
// usage: pipeline_bench DATA_DIR
//
// Each measured case alternates with its bare loop; figures are medians of the rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/image/pad_crop_flip.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRounds = 7;
constexpr size_t kBatchSize = 128;
constexpr size_t kShuffleBuffer = 16'384;
constexpr size_t kImageBytes = 3072;

double seconds(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Keeps the compiler from removing the work.
volatile uint32_t sink;

// Prints the measured value and the floor, in `unit` per second, and their ratio.
void compare(const std::string& what, const std::string& goal, double amount, const char* unit,
             const std::function<void()>& measured, const std::function<void()>& floor) {
  std::vector<double> ours, floors, ratios;
  for (size_t round = 0; round < kRounds + 1; ++round) {
    const double floor_seconds = seconds(floor);
    const double our_seconds = seconds(measured);
    if (round == 0) continue;  // warm-up
    floors.push_back(floor_seconds);
    ours.push_back(our_seconds);
    ratios.push_back(floor_seconds / our_seconds);
  }
  std::ranges::sort(ratios);
  fmt::print("  {:<46} {:>8.3f} {}, floor {:>8.3f}, ratio {:.2f} ({:.2f} to {:.2f}; goal: {})\n",
             what, amount / median(ours), unit, amount / median(floors), median(ratios),
             ratios.front(), ratios.back(), goal);
  std::fflush(stdout);
}

// The images of the files, as arrays in memory.
struct Images {
  std::vector<uint8_t> pixels;
  size_t count = 0;
};

Images load(const std::vector<std::string>& files) {
  Images images;
  for (const ImageBatch& batch :
       cifar10_batches(files, {.dtype = DType::uint8, .layout = Layout::nchw})) {
    images.pixels.insert(images.pixels.end(), batch.uint8s().begin(), batch.uint8s().end());
    images.count += batch.size();
  }
  return images;
}

// The order in which a bare loop visits the images; the default is the best for caches.
struct Course {
  std::vector<uint32_t> order = {};  // of the images; empty: as stored
  size_t batches_per_thread = 1;     // filled alternately
};

// Runs the distortion alone, on `threads` threads. Each thread makes its share of the batches and
// reuses their memory.
void distort(const Images& images, const ImageFormat& format, size_t threads,
             const Course& course = {}) {
  const auto image_at = [&](size_t i) {
    return images.pixels.data() + kImageBytes * (course.order.empty() ? i : course.order[i]);
  };
  const auto work = [&](size_t thread) {
    const uint64_t key = derive_key(7, 0);
    std::vector<ImageBatch> batches(course.batches_per_thread);
    size_t turn = 0;
    for (size_t first = thread * kBatchSize; first + kBatchSize <= images.count;
         first += threads * kBatchSize) {
      ImageBatch& batch = batches[turn++ % batches.size()];
      batch.reset(format, kBatchSize);
      for (size_t i = first; i < first + kBatchSize; ++i) {
        Random random(key, 0, i);
        const bool foresee = !course.order.empty() && i + 1 < images.count;
        pad_crop_flip({image_at(i), kImageBytes}, PadCropFlip::draw(random, 4), format,
                      batch.image_at(i - first), {}, foresee ? image_at(i + 1) : nullptr);
      }
      sink = static_cast<uint32_t>(batch.bytes()[0]);
    }
  };
  std::vector<std::jthread> others;
  for (size_t thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
}

// Runs epochs of the training pipeline after the first, which maps the files and checks the CRCs.
class TrainingPipeline {
 public:
  TrainingPipeline(const std::vector<std::string>& files, DType dtype, size_t threads,
                   bool global_shuffle = false)
      : batches_(cifar10_batches(files, {.batch_size = kBatchSize,
                                         .drop_remainder = true,
                                         .shuffle_buffer = global_shuffle ? 0 : kShuffleBuffer,
                                         .global_shuffle = global_shuffle,
                                         .distort = true,
                                         .epochs = -1,
                                         .dtype = dtype,
                                         .prefetch = 0,
                                         .threads = threads})
                     .iterate()),
        batches_per_epoch_(cifar10_count(files) / kBatchSize) {
    epoch();
  }

  void epoch() {
    for (size_t i = 0; i < batches_per_epoch_; ++i) step();
  }

  void step() { sink = static_cast<uint32_t>(batches_.next()->bytes()[0]); }

  void save_and_restore() { batches_.restore(batches_.state()); }

 private:
  Iterator<ImageBatch> batches_;
  size_t batches_per_epoch_;
};

void run(const std::string& data_dir) {
  const auto files = cifar10_files(data_dir, Cifar10Subset::train);
  const Images images = load(files);
  const double count = static_cast<double>(images.count) / 1e6;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());

  const auto file = posix_file_system().map(files[0]);
  // Opened once, as in a training run.
  auto reading = tfrecord_files({files[0]}, {.crc = CrcCheck::always})
                     .repeat()
                     .with_options({.threads = 1})
                     .iterate();
  compare(
      "records read, every CRC checked, one thread", "at least 0.8",
      static_cast<double>(file->bytes().size()) / 1e9, "GB/s",
      [&] {
        for (size_t i = 0; i < images.count; ++i) {
          sink = static_cast<uint32_t>(reading.next()->data.size());
        }
      },
      [&] { sink = crc32c(file->bytes()); });

  for (const DType dtype : {DType::float32, DType::uint8}) {
    const bool floats = dtype == DType::float32;
    const ImageFormat format{.dtype = dtype};
    TrainingPipeline pipeline(files, dtype, cores);
    compare(
        fmt::format("training pipeline, {}, {} threads", floats ? "float32" : "uint8", cores),
        floats ? "at least 0.7" : "at least 0.6", count, "million images/s",
        [&] { pipeline.epoch(); }, [&] { distort(images, format, cores); });
    Course course{.order = std::vector<uint32_t>(images.count)};
    std::iota(course.order.begin(), course.order.end(), 0u);
    std::ranges::shuffle(course.order, std::mt19937(1));
    for (course.batches_per_thread = 1; course.batches_per_thread <= 3;
         ++course.batches_per_thread) {
      compare(
          fmt::format("  bare loop, shuffled, {} batches a thread", course.batches_per_thread),
          "none", count, "million images/s", [&] { distort(images, format, cores, course); },
          [&] { distort(images, format, cores); });
    }
  }
  {
    TrainingPipeline global(files, DType::float32, cores, true);
    TrainingPipeline buffered(files, DType::float32, cores);
    compare(
        "global shuffle beside buffered", "at least 0.8", count, "million images/s",
        [&] { global.epoch(); }, [&] { buffered.epoch(); });
  }
  {
    TrainingPipeline one(files, DType::float32, 1);
    TrainingPipeline two(files, DType::float32, 2);
    compare(
        "2 threads beside 1", "at least 1.8", count, "million images/s", [&] { two.epoch(); },
        [&] { one.epoch(); });
    std::vector<double> rounds;
    for (size_t round = 0; round < 20; ++round) {
      for (size_t i = 0; i < 50 + round; ++i) two.step();
      rounds.push_back(seconds([&] { two.save_and_restore(); }));
    }
    fmt::print("  {:<46} {:>8.3f} ms (goal: less than 5)\n", "save and restore, buffer of 16,384",
               1e3 * median(rounds));
  }
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: pipeline_bench DATA_DIR\n");
    return 2;
  }
  try {
    recordpipe::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pipeline_bench: %s\n", error.what());
    return 1;
  }
}
