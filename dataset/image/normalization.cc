// Converts the options of Normalization to channel maps, and computes channel sums.
#include "recordpipe/image/normalization.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "dataset/base/require.h"
#include "dataset/image/channel_sums.h"

namespace recordpipe {
namespace {

// Of `n` values.
ChannelMap standardization(double mean, double variance, double n) {
  const auto rounded_mean = static_cast<float>(mean);
  const auto stddev = static_cast<float>(std::sqrt(variance));
  const float smallest = static_cast<float>(1 / std::sqrt(n));
  ChannelMap map;
  map.add.fill(-rounded_mean);
  map.divide.fill(std::max(stddev, smallest));
  return map;
}

ChannelMap standardization(const CropWindow& window, const ImageFormat& format) {
  ChannelSums all;
  for (size_t c = 0; c < format.channels; ++c) {
    const ChannelSums channel = sum_channel(window, format, c);
    all.values += channel.values;
    all.squares += channel.squares;
  }
  const auto n = static_cast<double>(format.values_per_image());
  return standardization(static_cast<double>(all.values) / n,
                         all.variance(format.values_per_image()), n);
}

// The same in double, for other types.
template <class Value>
ChannelMap standardization(const CropWindowOf<Value>& window, const ImageFormat& format) {
  const auto height = static_cast<int64_t>(window.image_height);
  const auto width = static_cast<int64_t>(window.image_width);
  const int64_t bottom = std::min(window.top + static_cast<int64_t>(format.height), height);
  const int64_t right = std::min(window.left + static_cast<int64_t>(format.width), width);
  const auto n = static_cast<double>(format.values_per_image());
  const auto for_each = [&](const auto& visit) {
    for (size_t c = 0; c < format.channels; ++c) {
      for (int64_t y = std::max<int64_t>(window.top, 0); y < bottom; ++y) {
        const Value* const row = window.image + (static_cast<int64_t>(c) * height + y) * width;
        for (int64_t x = std::max<int64_t>(window.left, 0); x < right; ++x) {
          visit(static_cast<double>(row[x]));
        }
      }
    }
  };
  double sum = 0, inside = 0, squares = 0;
  for_each([&](double value) {
    sum += value;
    ++inside;
  });
  const double mean = sum / n;
  for_each([&](double value) { squares += (value - mean) * (value - mean); });
  squares += (n - inside) * mean * mean;  // zeros outside of the image
  return standardization(mean, squares / n, n);
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
  require(format.dtype != DType::uint8 && format.dtype != DType::uint16,
          "a batch of uint8 or uint16 values can't be normalised");
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

namespace {

template <class Window>
ChannelMap map_of(const Normalization& normalization, const Window& window,
                  const ImageFormat& format) {
  if (normalization.per_image) return standardization(window, format);
  ChannelMap map;
  map.multiply.fill(normalization.scale);
  for (size_t c = 0; c < map.add.size(); ++c) map.add[c] = -normalization.mean[c];
  map.divide = normalization.stddev;
  return map;
}

}  // namespace

ChannelMap channel_map(const Normalization& normalization, const CropWindow& window,
                       const ImageFormat& format) {
  return map_of(normalization, window, format);
}

ChannelMap channel_map(const Normalization& normalization, const CropWindowOf<uint16_t>& window,
                       const ImageFormat& format) {
  return map_of(normalization, window, format);
}

ChannelMap channel_map(const Normalization& normalization, const CropWindowOf<float>& window,
                       const ImageFormat& format) {
  return map_of(normalization, window, format);
}

namespace {

// A uint32_t holds the sum of this many squares: 65,536 * 255^2 is below 2^32.
constexpr int64_t kMaxAtOnce = 65'536;

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
    for (int64_t begin = left; begin < right; begin += kMaxAtOnce) {
      const int64_t end = std::min(begin + kMaxAtOnce, right);
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
