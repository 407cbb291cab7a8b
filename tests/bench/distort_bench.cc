// Measures the CIFAR distortion alone, on arrays in memory, in images per second. Compares it with
// two floors that write as many bytes: memset, and memcpy of the image with memset for the rest.
//
// usage: distort_bench
//
// 40,000 images, read in a shuffled order, are written to four alternating batches of 128, as in a
// pipeline; each thread has its own batches. All cases alternate.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/image/crop_window.h"
#include "recordpipe/image/pad_crop_flip.h"

namespace recordpipe {
namespace {

constexpr size_t kImages = 40'000;
constexpr size_t kImageBytes = 3 * 32 * 32;
constexpr size_t kBatch = 128;
constexpr size_t kSlots = 4;
constexpr size_t kRounds = 7;
constexpr double kSecondsPerRound = 0.15;

using Slots = std::vector<ImageBatch>;

struct Source {
  std::vector<uint8_t> pixels;
  std::vector<uint32_t> order;

  Source() : pixels(kImages * kImageBytes), order(kImages) {
    std::mt19937 random(7);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(random() >> 13);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
  }
  const uint8_t* image(size_t i) const { return pixels.data() + order[i % kImages] * kImageBytes; }
};

// One way of filling a row of a batch with image number i, and its measured speeds.
struct Case {
  std::string name;
  ImageFormat format;
  std::function<void(const Source&, size_t i, const ImageFormat&, std::byte* out)> fill;
  size_t floor = 0;  // index: the floors are this case and the next
  std::vector<double> speeds = {};

  double median() const {
    std::vector<double> sorted = speeds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

// Returns the images per second of one thread.
double measure(const Case& work, const Source& source, size_t thread) {
  using Clock = std::chrono::steady_clock;
  static thread_local Slots slots;
  slots.resize(kSlots);
  for (ImageBatch& slot : slots) slot.reset(work.format, kBatch);
  size_t i = thread * kImages / 2;
  size_t images = 0;
  const auto batch = [&](ImageBatch& slot) {
    for (size_t row = 0; row < kBatch; ++row) {
      work.fill(source, i++, work.format, slot.image_at(row));
    }
  };
  for (ImageBatch& slot : slots) batch(slot);
  const Clock::time_point start = Clock::now();
  double seconds = 0;
  while (seconds < kSecondsPerRound) {
    for (ImageBatch& slot : slots) batch(slot);
    images += kSlots * kBatch;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return static_cast<double>(images) / seconds;
}

void print_table(std::vector<Case> cases, const Source& source, size_t threads) {
  for (size_t round = 0; round < kRounds; ++round) {
    for (Case& work : cases) {
      std::vector<double> speeds(threads);
      std::vector<std::jthread> others;
      for (size_t t = 1; t < threads; ++t) {
        others.emplace_back([&, t] { speeds[t] = measure(work, source, t); });
      }
      speeds[0] = measure(work, source, 0);
      others.clear();
      work.speeds.push_back(std::accumulate(speeds.begin(), speeds.end(), 0.0));
    }
  }
  fmt::print("{} thread{}: images/s, time over memset's, over memcpy and memset's\n", threads,
             threads == 1 ? "" : "s");
  for (const Case& work : cases) {
    const double speed = work.median();
    fmt::print("  {:<32} {:>12.0f} {:>6.2f} {:>6.2f}\n", work.name, speed,
               cases[work.floor].median() / speed, cases[work.floor + 1].median() / speed);
  }
}

void add_floors(std::vector<Case>& cases, const ImageFormat& format) {
  const size_t size = format.bytes_per_image();
  const size_t index = cases.size();
  cases.push_back({fmt::format("memset of {} bytes", size), format,
                   [size](const Source&, size_t i, const ImageFormat&, std::byte* out) {
                     std::memset(out, static_cast<int>(i), size);
                   },
                   index});
  cases.push_back({fmt::format("memcpy and memset of {} bytes", size), format,
                   [size](const Source& source, size_t i, const ImageFormat&, std::byte* out) {
                     std::memcpy(out, source.image(i), kImageBytes);
                     std::memset(out + kImageBytes, 0, size - kImageBytes);
                   },
                   index});
}

Case crop_case(const CropImplementation& implementation, std::string name,
               const ImageFormat& format, const ChannelMap& map, size_t floor) {
  return {
      fmt::format("{}, {}", name, implementation.name), format,
      [&implementation, map](const Source& source, size_t i, const ImageFormat& f, std::byte* out) {
        Random random(7, 0, i);
        const PadCropFlip crop = PadCropFlip::draw(random, 4);
        implementation.write({.image = source.image(i),
                              .image_height = 32,
                              .image_width = 32,
                              .top = crop.top,
                              .left = crop.left,
                              .flip = crop.flip},
                             f, map, out);
      },
      floor};
}

void run() {
  const Source source;
  const ImageFormat f32 = {.dtype = DType::float32}, u8 = {.dtype = DType::uint8};
  const ImageFormat f16 = {.dtype = DType::float16}, bf16 = {.dtype = DType::bfloat16};
  const ImageFormat f32_nchw = {.layout = Layout::nchw};
  const ImageFormat u8_nchw = {.dtype = DType::uint8, .layout = Layout::nchw};
  const ChannelMap normalise = {.multiply = {1, 1, 1, 1},
                                .add = {-125.3f, -123.0f, -113.9f, 0},
                                .divide = {63.0f, 62.1f, 66.7f, 1}};
  std::vector<Case> cases;
  for (const ImageFormat& format : {f32, f16, u8}) add_floors(cases, format);
  for (const CropImplementation& way : crop_implementations()) {
    cases.push_back(crop_case(way, "float32 NHWC", f32, {}, 0));
    cases.push_back(crop_case(way, "float32 NCHW", f32_nchw, {}, 0));
    cases.push_back(crop_case(way, "float32 NHWC / stddev", f32, normalise, 0));
    cases.push_back(crop_case(way, "float16 NHWC", f16, {}, 2));
    cases.push_back(crop_case(way, "bfloat16 NHWC", bf16, {}, 2));
    cases.push_back(crop_case(way, "uint8 NHWC", u8, {}, 4));
    cases.push_back(crop_case(way, "uint8 NCHW", u8_nchw, {}, 4));
  }
  print_table(cases, source, 1);
  const size_t cores = std::thread::hardware_concurrency();
  if (cores > 1) print_table(cases, source, cores);
}

}  // namespace
}  // namespace recordpipe

int main() { recordpipe::run(); }
