// Converts the options of Normalization to channel maps, and computes channel sums.
#include "recordpipe/image/normalization.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "dataset/image/channel_sums.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

void require(bool condition, const char* reason) {
  if (!condition) throw Error({.kind = ErrorKind::invalid_argument, .reason = reason});
}

ChannelMap standardization(const CropWindow& window, const ImageFormat& format) {
  ChannelSums all;
  for (size_t c = 0; c < format.channels; ++c) {
    const ChannelSums channel = sum_channel(window, format, c);
    all.values += channel.values;
    all.squares += channel.squares;
  }
  const auto n = static_cast<double>(format.values_per_image());
  const auto mean = static_cast<float>(static_cast<double>(all.values) / n);
  const auto stddev = static_cast<float>(std::sqrt(all.variance(format.values_per_image())));
  const float smallest = static_cast<float>(1 / std::sqrt(n));
  ChannelMap map;
  map.add.fill(-mean);
  map.divide.fill(std::max(stddev, smallest));
  return map;
}

std::string list(std::span<const float> numbers) {
  std::string out = "[";
  for (const float number : numbers) out += (out.size() > 1 ? ", " : "") + shortest_text(number);
  return out + "]";
}

}  // namespace

std::vector<Parameter> Normalization::parameters() const {
  if (*this == Normalization{}) return {};
  if (*this == Normalization{.per_image = true}) return {{"per_image", true}};
  return {{"scale", scale}, {"mean", list(mean)}, {"stddev", list(stddev)}};
}

void check(const Normalization& normalization, const ImageFormat& format) {
  if (normalization == Normalization{}) return;
  require(format.dtype != DType::uint8, "a batch of uint8 values can't be normalised");
  require(format.channels <= Normalization::kMaxChannels,
          "images of more than 4 channels can't be normalised");
  if (normalization.per_image) {
    require(normalization == Normalization{.per_image = true},
            "per_image can't be combined with scale, mean or stddev");
    return;
  }
  require(std::isfinite(normalization.scale), "the scale is not a finite number");
  for (size_t c = 0; c < format.channels; ++c) {
    require(std::isfinite(normalization.mean[c]), "a mean is not a finite number");
    require(std::isfinite(normalization.stddev[c]) && normalization.stddev[c] > 0,
            "a stddev is not a finite number above 0");
  }
}

ChannelMap channel_map(const Normalization& normalization, const CropWindow& window,
                       const ImageFormat& format) {
  if (normalization.per_image) return standardization(window, format);
  ChannelMap map;
  map.multiply.fill(normalization.scale);
  for (size_t c = 0; c < map.add.size(); ++c) map.add[c] = -normalization.mean[c];
  map.divide = normalization.stddev;
  return map;
}

namespace {

// A uint32_t holds the sum of this many squares: 65,536 * 255^2 is below 2^32.
constexpr int64_t kMostAtOnce = 65'536;

}  // namespace

ChannelSums sum_channel(const CropWindow& window, const ImageFormat& format, size_t channel) {
  const auto image_height = static_cast<int64_t>(window.image_height);
  const auto image_width = static_cast<int64_t>(window.image_width);
  // The part of the image that the window covers.
  const int64_t top = std::clamp<int64_t>(window.top, 0, image_height);
  const int64_t bottom =
      std::clamp<int64_t>(window.top + static_cast<int64_t>(format.height), top, image_height);
  const int64_t left = std::clamp<int64_t>(window.left, 0, image_width);
  const int64_t right =
      std::clamp<int64_t>(window.left + static_cast<int64_t>(format.width), left, image_width);
  ChannelSums sums;
  for (int64_t y = top; y < bottom; ++y) {
    const uint8_t* row =
        window.image + (static_cast<int64_t>(channel) * image_height + y) * image_width;
    for (int64_t begin = left; begin < right; begin += kMostAtOnce) {
      const int64_t end = std::min(begin + kMostAtOnce, right);
      uint32_t values = 0, squares = 0;
      for (int64_t x = begin; x < end; ++x) {
        const uint32_t value = row[x];
        values += value;
        squares += value * value;
      }
      sums.values += values;
      sums.squares += squares;
    }
  }
  return sums;
}

}  // namespace recordpipe
