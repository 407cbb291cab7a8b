// A bare loop over photographs, the floor of bench_photos: the calls of libjpeg-turbo, the resize
// and the write into a batch that a pipeline cannot avoid. Each thread works for itself: no
// shuffle, no checks of damaged files, no order.
//
// usage: photo_bench train|evaluate uint8|float32 fast|accurate SECONDS FILE...
//
// train: RandomResizedCrop(224), flip; evaluate: the short side to 256, the centre of 224. Images
// are JPEG files in "image/encoded". Prints images per second.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <jpeglib.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/example/example_view.h"
#include "recordpipe/image/crop_window.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/resized_crop.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

constexpr size_t kBatchSize = 64;
constexpr ImageSize kCrop{224, 224};
constexpr size_t kShortSide = 256;

struct Work {
  bool train = true;
  DType dtype = DType::uint8;
  J_DCT_METHOD dct = JDCT_IFAST;
  std::vector<Bytes> files;
};

std::vector<Bytes> read_images(std::span<char*> paths) {
  std::vector<Bytes> images;
  for (const char* const path : paths) {
    RecordReader reader(posix_file_system(), path);
    while (const auto record = reader.read()) {
      for_each_feature(record->data, [&](std::string_view name, const FeatureView& feature) {
        if (name != "image/encoded") return;
        const std::span<const std::byte> file = feature.bytes_values()[0];
        images.emplace_back(file.begin(), file.end());
      });
    }
  }
  return images;
}

class Loop {
 public:
  explicit Loop(const Work& work) : work_(work) {
    codec_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&codec_);
    for (size_t c = 0; c < 3; ++c) {
      if (work.dtype == DType::float32) map_.multiply[c] = 1.0F / 58, map_.add[c] = -2;
    }
    batch_.reset({kCrop.height, kCrop.width, 3, work.dtype, Layout::nhwc}, kBatchSize);
  }
  ~Loop() { jpeg_destroy_decompress(&codec_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void decode(const Bytes& file, size_t number) {
    jpeg_mem_src(&codec_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&codec_, TRUE);
    const ImageSize size{codec_.image_height, codec_.image_width};
    Random random(derive_key(7, 1), 0, number);
    const ResizedCrop crop =
        work_.train ? ResizedCrop::draw(random, size, kCrop, {.flip = true})
                    : ResizedCrop::central(size, size_of_short_side(size, kShortSide), kCrop);
    read_part(crop.source());
    const CropWindow window = {
        .image = resizer_.resize(part_, 3, crop.resized, Layout::nchw).data(),
        .image_height = kCrop.height,
        .image_width = kCrop.width};
    write_window(window, batch_.format(), map_, batch_.image_at(number % kBatchSize));
  }

 private:
  void read_part(const ImagePart& part) {
    codec_.out_color_space = JCS_RGB;
    codec_.dct_method = work_.dct;
    jpeg_start_decompress(&codec_);
    const size_t begin = part.left - std::min<size_t>(part.left, 16);
    auto first = static_cast<JDIMENSION>(begin);
    auto width = static_cast<JDIMENSION>(
        std::min<size_t>(part.left + part.width + 16, codec_.output_width) - begin);
    jpeg_crop_scanline(&codec_, &first, &width);
    // At a multiple of 16 bytes, libjpeg-turbo would write past the caches.
    row_.resize(size_t{codec_.output_width} * 3 + 1);
    uint8_t* const odd = row_.data() + 1;
    part_.resize(part.height * part.width * 3);
    if (part.top > 0) jpeg_skip_scanlines(&codec_, static_cast<JDIMENSION>(part.top));
    for (size_t y = 0; y < part.height; ++y) {
      uint8_t* row = odd;
      jpeg_read_scanlines(&codec_, &row, 1);
      std::copy_n(odd + (part.left - first) * 3, part.width * 3, &part_[y * part.width * 3]);
    }
    jpeg_abort_decompress(&codec_);
  }

  const Work& work_;
  jpeg_decompress_struct codec_ = {};
  jpeg_error_mgr errors_ = {};
  Resizer resizer_;
  ChannelMap map_;
  ImageBatch batch_;
  std::vector<uint8_t> row_, part_;
};

double images_per_second(const Work& work, double seconds) {
  std::atomic<size_t> images = 0;
  const Clock::time_point start = Clock::now();
  const Clock::time_point end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> running;
  for (size_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      Loop loop(work);
      size_t count = 0;
      for (; count % kBatchSize != 0 || Clock::now() < end; ++count) {
        const size_t number = count * threads + thread;
        loop.decode(work.files[number % work.files.size()], number);
      }
      images += count;
    });
  }
  running.clear();
  return static_cast<double>(images) / std::chrono::duration<double>(Clock::now() - start).count();
}

int run(std::span<char*> arguments) {
  if (arguments.size() < 6) {
    std::fprintf(stderr,
                 "usage: photo_bench train|evaluate uint8|float32 fast|accurate SECONDS "
                 "FILE...\n");
    return 2;
  }
  const Work work = {
      .train = std::string_view(arguments[1]) == "train",
      .dtype = std::string_view(arguments[2]) == "uint8" ? DType::uint8 : DType::float32,
      .dct = std::string_view(arguments[3]) == "fast" ? JDCT_IFAST : JDCT_ISLOW,
      .files = read_images(arguments.subspan(5))};
  if (work.files.empty()) {
    std::fprintf(stderr, "photo_bench: no image/encoded in these files\n");
    return 1;
  }
  std::printf("%.1f\n", images_per_second(work, std::strtod(arguments[4], nullptr)));
  return 0;
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  try {
    return recordpipe::run({argv, static_cast<size_t>(argc)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "photo_bench: %s\n", error.what());
    return 1;
  }
}
