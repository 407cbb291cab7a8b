// The distortions of dataset/image on the GPU, bit for bit: sums in integers, then the same
// operations in the same order and precision. Compiled without contraction of multiplications and
// additions, like the other kernels.
#include <cmath>

#include "trainer/backend/cuda/kernels.h"
#include "trainer/backend/cuda/launch.h"

namespace recordpipe::cuda {
namespace {

RECORDPIPE_HOST_DEVICE const uint8_t* channel_of(const DistortImages& work, uint32_t image,
                                                 uint32_t channel) {
  return work.from + (static_cast<size_t>(image) * work.image_channels + channel) *
                         work.image_height * work.image_width;
}

// The value of the crop at a position; 0 outside the image.
RECORDPIPE_HOST_DEVICE uint32_t value_at(const DistortImages& work, const uint8_t* channel,
                                         int32_t row, int32_t column) {
  const bool inside = row >= 0 && row < static_cast<int32_t>(work.image_height) && column >= 0 &&
                      column < static_cast<int32_t>(work.image_width);
  return inside
             ? channel[static_cast<size_t>(row) * work.image_width + static_cast<uint32_t>(column)]
             : 0;
}

// Sums of one row of one channel of one crop.
struct SumRow {
  DistortImages work;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t row = index % work.height, plane = index / work.height;
    const uint32_t image = plane / work.image_channels, channel = plane % work.image_channels;
    const CropFlipColor& crop = work.crops[image];
    const uint8_t* from = channel_of(work, image, channel);
    RowSums sums = {};
    for (uint32_t column = 0; column < work.width; ++column) {
      const uint32_t value = value_at(work, from, crop.top + static_cast<int32_t>(row),
                                      crop.left + static_cast<int32_t>(column));
      sums.values += value;
      sums.squares += value * value;
    }
    work.row_sums[index] = sums;
  }
};

// Computes an image's ColorMap, with the formula of color_map() in
// dataset/image/crop_flip_color.cc.
struct MapColors {
  DistortImages work;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t image) const {
    const CropFlipColor& crop = work.crops[image];
    const uint64_t pixels = static_cast<uint64_t>(work.height) * work.width;
    const auto count = static_cast<double>(pixels),
               channels = static_cast<double>(work.image_channels);
    const double contrast = crop.contrast;
    double means[kMostColors] = {};
    double mean = 0, variance_within = 0;
    for (uint32_t c = 0; c < work.image_channels; ++c) {
      uint64_t values = 0, squares = 0;
      const RowSums* rows =
          work.row_sums + (static_cast<size_t>(image) * work.image_channels + c) * work.height;
      for (uint32_t row = 0; row < work.height; ++row) {
        values += rows[row].values;
        squares += rows[row].squares;
      }
      means[c] = static_cast<double>(values) / count;
      mean += means[c] / channels;
      const double variance =
          static_cast<double>(pixels * squares - values * values) / count / count;
      variance_within += variance / channels;
    }
    double variance_between = 0;
    for (uint32_t c = 0; c < work.image_channels; ++c)
      variance_between += (means[c] - mean) * (means[c] - mean) / channels;
    const double deviation = std::sqrt(contrast * contrast * variance_within + variance_between);
    const double smallest = 1 / std::sqrt(count * channels);
    for (uint32_t c = 0; c < work.image_channels; ++c) {
      ColorMap& map = work.maps[static_cast<size_t>(image) * work.image_channels + c];
      if (work.standardize) {
        map.multiply = 1;
        map.add = static_cast<float>((means[c] - mean) / contrast - means[c]);
        map.divide = static_cast<float>((deviation < smallest ? smallest : deviation) / contrast);
      } else {
        map.multiply = crop.contrast;
        map.add = static_cast<float>(means[c] * (1 - contrast) + crop.brightness);
        map.divide = 1;
      }
    }
  }
};

// One pack: adjacent channels of one pixel of the crop.
template <class T>
struct DistortPack {
  DistortImages work;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t packs = work.channels / kLanes<T>;
    const uint32_t pixel = index / packs, first = index % packs * kLanes<T>;
    const uint32_t image = pixel / (work.height * work.width);
    const uint32_t row = pixel / work.width % work.height, x = pixel % work.width;
    const CropFlipColor& crop = work.crops[image];
    const uint32_t column = crop.flip ? work.width - 1 - x : x;
    Pack<T> pack;
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      const uint32_t channel = first + lane;
      pack.lanes[lane] = 0;
      if (channel >= work.image_channels) continue;
      auto value = static_cast<float>(value_at(work, channel_of(work, image, channel),
                                               crop.top + static_cast<int32_t>(row),
                                               crop.left + static_cast<int32_t>(column)));
      if (work.maps) {
        const ColorMap& map = work.maps[static_cast<size_t>(image) * work.image_channels + channel];
        value = (value * map.multiply + map.add) / map.divide;
      }
      pack.lanes[lane] = value * work.scale + work.shift;
    }
    store(static_cast<T*>(work.to) + static_cast<size_t>(index) * kLanes<T>, pack);
  }
};

}  // namespace

void distort_images(Stream stream, const DistortImages& work) {
  if (work.maps) {
    for_each(stream, work.images * work.image_channels * work.height, SumRow{work});
    for_each(stream, work.images, MapColors{work});
  }
  with_element(work.element, [&]<class T>(T*) {
    for_each(stream, work.images * work.height * work.width * (work.channels / kLanes<T>),
             DistortPack<T>{work});
  });
}

}  // namespace recordpipe::cuda
