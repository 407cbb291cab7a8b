#include "recordpipe/trainer/summary/image_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace recordpipe {
namespace {

// Image `row` of `all`, with the channels of a pixel adjacent.
template <class T>
std::vector<T> interleaved(std::span<const T> all, const ImageFormat& format, size_t row) {
  const size_t count = format.values_per_image(), pixels = format.height * format.width;
  const std::span<const T> image = all.subspan(row * count, count);
  std::vector<T> out(image.begin(), image.end());
  if (format.layout == Layout::nchw)
    for (size_t pixel = 0; pixel < pixels; ++pixel)
      for (size_t channel = 0; channel < format.channels; ++channel)
        out[pixel * format.channels + channel] = image[channel * pixels + pixel];
  return out;
}

struct Mapping {
  float scale, offset;
};

// NormalizeFloatImage of tensorflow/core/kernels/summary_image_op.cc, constants included.
Mapping mapping_for(float least, float greatest) {
  const bool is_signed = least < 0;
  const float farthest = is_signed ? std::max(-least, greatest) : greatest;
  const float range = is_signed ? 127.0f : 255.0f;
  return {.scale = farthest < 1e-6f ? 0.0f : range / farthest, .offset = is_signed ? 128.0f : 0.0f};
}

std::vector<uint8_t> map_to_bytes(std::span<const float> image, size_t channels) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  float least = std::numeric_limits<float>::infinity(), greatest = -least;
  for (size_t at = 0; at < image.size(); at += channels) {
    const auto pixel = image.subspan(at, channels);
    if (!std::ranges::all_of(pixel, is_finite)) continue;
    least = std::min(least, std::ranges::min(pixel));
    greatest = std::max(greatest, std::ranges::max(pixel));
  }
  const Mapping mapping = mapping_for(least, greatest);
  constexpr std::array<uint8_t, 4> red = {255, 0, 0, 255};
  std::vector<uint8_t> bytes(image.size());
  for (size_t at = 0; at < image.size(); at += channels) {
    const auto pixel = image.subspan(at, channels);
    const bool good = std::ranges::all_of(pixel, is_finite);
    for (size_t channel = 0; channel < channels; ++channel)
      bytes[at + channel] =
          good           ? static_cast<uint8_t>(pixel[channel] * mapping.scale + mapping.offset)
          : channels < 3 ? uint8_t{255}
                         : red[std::min<size_t>(channel, 3)];
  }
  return bytes;
}

float to_float(float value) { return value; }

template <class T>
std::vector<uint8_t> pixels_of(std::span<const T> all, const ImageFormat& format, size_t row) {
  std::vector<float> image;
  for (const T value : interleaved(all, format, row)) image.push_back(to_float(value));
  return map_to_bytes(image, format.channels);
}

}  // namespace

std::vector<uint8_t> summary_pixels(const ImageBatch& batch, size_t row) {
  switch (batch.format().dtype) {
    case DType::uint8:
      return interleaved(batch.uint8s(), batch.format(), row);
    case DType::uint16:
      break;  // no batch of the trainer
    case DType::float32:
      return pixels_of(batch.floats(), batch.format(), row);
    case DType::float16:
      return pixels_of(batch.float16s(), batch.format(), row);
    case DType::bfloat16:
      return pixels_of(batch.bfloat16s(), batch.format(), row);
  }
  return {};
}

}  // namespace recordpipe
