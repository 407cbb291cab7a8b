// Draws the parameters of distortions, and reduces each distortion to a call of write_window().
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "dataset/base/require.h"
#include "dataset/image/channel_sums.h"
#include "dataset/image/crop_implementations.h"
#include "dataset/image/size_text.h"
#include "recordpipe/base/error.h"
#include "recordpipe/image/crop_flip_color.h"
#include "recordpipe/image/crop_window.h"
#include "recordpipe/image/pad_crop_flip.h"

namespace recordpipe {

void write_window(const CropWindow& window, const ImageFormat& format, const ChannelMap& map,
                  std::byte* out) {
  write_window_highway(window, format, map, out);
}

const std::vector<CropImplementation>& crop_implementations() {
  static const std::vector<CropImplementation> implementations = {
      {"portable", write_window_portable}, {"highway", write_window_highway}};
  return implementations;
}

PadCropFlip PadCropFlip::draw(Random& random, const PadCropFlipOptions& options) {
  const auto places = static_cast<uint32_t>(2 * options.pad + 1);
  PadCropFlip crop = {.reflect = options.reflect};
  crop.top = static_cast<int>(random.below(places)) - options.pad;
  crop.left = static_cast<int>(random.below(places)) - options.pad;
  crop.flip = options.alternating_flip ? random.alternating() : random.below(2) == 1;
  if (options.cutout == 0) return crop;
  crop.cutout = options.cutout;
  crop.cutout_row = random.uniform();
  crop.cutout_column = random.uniform();
  return crop;
}

namespace {

// The crop [channels, height, width] before the flip, with what write_window() can't do. Abs(x)
// reflects at the first pixel, last - abs(last - x) at the last one.
std::vector<uint8_t> moved(std::span<const uint8_t> image, const PadCropFlip& crop,
                           const ImageFormat& format) {
  const auto height = static_cast<int>(format.height), width = static_cast<int>(format.width);
  require(!crop.reflect || (std::abs(crop.top) < height && std::abs(crop.left) < width),
          "a reflected image reaches no further than the image's size");
  require(crop.cutout >= 0 && crop.cutout <= std::min(height, width),
          "a cutout is at most as large as the image");
  const auto begin = [&](float share, int size) {
    return static_cast<int>(share * static_cast<float>(size - crop.cutout + 1));
  };
  const int top = begin(crop.cutout_row, height), left = begin(crop.cutout_column, width);
  const auto source = [&](int at, int size) {
    if (!crop.reflect) return at >= 0 && at < size ? at : -1;
    return size - 1 - std::abs(size - 1 - std::abs(at));
  };
  constexpr uint8_t grey = 128;
  std::vector<uint8_t> window;
  window.reserve(image.size());
  for (int channel = 0; channel < static_cast<int>(format.channels); ++channel)
    for (int y = 0; y < height; ++y) {
      const bool is_cut = y >= top && y < top + crop.cutout;
      const int row = source(y + crop.top, height);
      for (int x = 0; x < width; ++x) {
        const int column = source(x + crop.left, width);
        const auto from = static_cast<size_t>((channel * height + row) * width + column);
        if (is_cut && x >= left && x < left + crop.cutout)
          window.push_back(grey);
        else
          window.push_back(row < 0 || column < 0 ? uint8_t{0} : image[from]);
      }
    }
  return window;
}

}  // namespace

void pad_crop_flip(std::span<const uint8_t> image, const PadCropFlip& crop,
                   const ImageFormat& format, std::byte* out, const Normalization& normalization,
                   const uint8_t* next) {
  if (image.size() != format.values_per_image()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "an image of " + std::to_string(image.size()) + " bytes where " +
                           std::to_string(format.values_per_image()) + " were expected"});
  }
  check(normalization, format);
  const bool copied = crop.reflect || crop.cutout != 0;
  const std::vector<uint8_t> copy = copied ? moved(image, crop, format) : std::vector<uint8_t>();
  const CropWindow window = {.image = copied ? copy.data() : image.data(),
                             .image_height = format.height,
                             .image_width = format.width,
                             .top = copied ? 0 : crop.top,
                             .left = copied ? 0 : crop.left,
                             .flip = crop.flip,
                             .next = next};
  write_window(window, format, channel_map(normalization, window, format), out);
}

std::vector<Parameter> ImageCollator::parameters() const {
  std::vector<Parameter> all = format.parameters();
  std::ranges::move(normalization.parameters(), std::back_inserter(all));
  return all;
}

namespace {

// Returns the offset of the central `crop` of `image` pixels, rounded towards zero.
int central_offset(size_t image, size_t crop) {
  return (static_cast<int>(image) - static_cast<int>(crop)) / 2;
}

// With contrast k, brightness b, mean m[c] of channel c, mean M of all channels, and divisor d of
// the standardisation, a value x becomes
//     ((x - m[c]) * k + m[c] + b - (M + b)) / d = (x - (m[c] - (m[c] - M) / k)) / (d / k),
// where d^2 = k^2 * mean of the channels' variances + variance of the channels' means. In this form
// the values of a single-colour image cancel exactly, as in the chain of operations.
ChannelMap color_map(const CropWindow& window, const CropFlipColor& distortion,
                     const ImageFormat& format, Standardize standardize) {
  const size_t pixels = format.height * format.width;
  const auto channels = static_cast<double>(format.channels);
  const double contrast = distortion.contrast;
  std::array<double, ChannelMap::kMaxChannels> means = {};
  double mean = 0, variance_within = 0;
  for (size_t c = 0; c < format.channels; ++c) {
    const ChannelSums sums = sum_channel(window, format, c);
    means[c] = static_cast<double>(sums.values) / static_cast<double>(pixels);
    mean += means[c] / channels;
    variance_within += sums.variance(pixels) / channels;
  }
  double variance_between = 0;
  for (size_t c = 0; c < format.channels; ++c) {
    variance_between += (means[c] - mean) * (means[c] - mean) / channels;
  }
  const double stddev = std::sqrt(contrast * contrast * variance_within + variance_between);
  const double smallest = 1 / std::sqrt(static_cast<double>(format.values_per_image()));
  ChannelMap map;
  for (size_t c = 0; c < format.channels; ++c) {
    if (standardize == Standardize::yes) {
      map.add[c] = static_cast<float>((means[c] - mean) / contrast - means[c]);
      map.divide[c] = static_cast<float>(std::max(stddev, smallest) / contrast);
    } else {
      map.multiply[c] = distortion.contrast;
      map.add[c] = static_cast<float>(means[c] * (1 - contrast) + distortion.brightness);
    }
  }
  return map;
}

}  // namespace

CropFlipColor CropFlipColor::draw(Random& random, const ImageSize& image, const ImageSize& crop,
                                  const ColorRanges& ranges) {
  require(crop.height <= image.height && crop.width <= image.width,
          "a crop of " + size_text(crop) + " from an image of " + size_text(image));
  require(ranges.max_brightness >= 0, "max_brightness is below 0");
  require(ranges.min_contrast > 0 && ranges.min_contrast <= ranges.max_contrast,
          "min_contrast is not above 0, or above max_contrast");
  CropFlipColor distortion;
  distortion.top =
      static_cast<int>(random.below(static_cast<uint32_t>(image.height - crop.height + 1)));
  distortion.left =
      static_cast<int>(random.below(static_cast<uint32_t>(image.width - crop.width + 1)));
  distortion.flip = random.below(2) == 1;
  distortion.brightness = (2 * random.uniform() - 1) * ranges.max_brightness;
  distortion.contrast =
      ranges.min_contrast + random.uniform() * (ranges.max_contrast - ranges.min_contrast);
  return distortion;
}

CropFlipColor CropFlipColor::central(const ImageSize& image, const ImageSize& crop) {
  CropFlipColor distortion;
  distortion.top = central_offset(image.height, crop.height);
  distortion.left = central_offset(image.width, crop.width);
  return distortion;
}

void crop_flip_color(std::span<const uint8_t> image, const ImageSize& size,
                     const CropFlipColor& distortion, const ImageFormat& format, std::byte* out,
                     Standardize standardize) {
  const size_t expected = size.height * size.width * format.channels;
  require(image.size() == expected, "an image of " + std::to_string(image.size()) +
                                        " bytes where " + std::to_string(expected) +
                                        " were expected");
  require(format.dtype != DType::uint8, "distorted colours need a floating-point dtype, not uint8");
  require(format.channels >= 1 && format.channels <= ChannelMap::kMaxChannels,
          "an image of " + std::to_string(format.channels) + " channels; 1 to 4 are supported");
  require(distortion.contrast > 0, "contrast is not above 0");
  const CropWindow window = {.image = image.data(),
                             .image_height = size.height,
                             .image_width = size.width,
                             .top = distortion.top,
                             .left = distortion.left,
                             .flip = distortion.flip};
  write_window(window, format, color_map(window, distortion, format, standardize), out);
}

std::vector<Parameter> RecoloredCollator::parameters() const {
  std::vector<Parameter> all = format.parameters();
  all.push_back({"cropped_from", size_text(size)});
  all.push_back({"standardize", standardize == Standardize::yes});
  return all;
}

}  // namespace recordpipe
