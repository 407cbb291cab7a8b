#include "recordpipe/toolkit/pixel_guess.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "recordpipe/image/encode_png.h"

namespace recordpipe {
namespace {

// Datasets whose images can be recognized by their size in bytes.
struct KnownSize {
  size_t bytes;
  PixelShape shape;
  const char* name;
};
constexpr std::array<KnownSize, 5> kKnownSizes = {{
    {784, {28, 28, 1}, "MNIST"},
    {3072, {32, 32, 3}, "CIFAR"},
    {12288, {64, 64, 3}, "Tiny ImageNet"},
    {27648, {96, 96, 3}, "STL-10"},
    {150528, {224, 224, 3}, "ImageNet"},
}};

std::optional<size_t> number_of(const MessageView& record, std::string_view name) {
  const FeatureView* feature = record.find_feature(name);
  const auto value = feature == nullptr ? std::nullopt : feature->single_int64();
  if (!value || *value < 1 || *value > int64_t{kLongestSide}) return std::nullopt;
  return static_cast<size_t>(*value);
}

// Returns the mean absolute difference between bytes that are `distance` bytes apart.
double difference(std::span<const std::byte> pixels, size_t distance) {
  if (pixels.size() <= distance) return 0;
  uint64_t sum = 0;
  for (size_t i = distance; i < pixels.size(); ++i) {
    sum += static_cast<uint64_t>(
        std::abs(std::to_integer<int>(pixels[i]) - std::to_integer<int>(pixels[i - distance])));
  }
  return static_cast<double>(sum) / static_cast<double>(pixels.size() - distance);
}

// Returns the layout in which vertical neighbours differ less, or std::nullopt if they differ
// equally in both layouts. (Horizontal neighbours are less reliable: in an interleaved image with
// little colour, adjacent bytes belong to the same pixel and differ even less than adjacent
// pixels.)
std::optional<PixelLayout> likelier_layout(std::span<const std::byte> pixels,
                                           const PixelShape& shape) {
  const double planar = difference(pixels, shape.width);
  const double interleaved = difference(pixels, shape.width * shape.channels);
  if (planar == interleaved) return std::nullopt;
  return planar < interleaved ? PixelLayout::planar : PixelLayout::interleaved;
}

std::vector<uint8_t> channels_last(std::span<const std::byte> planes, const PixelShape& shape) {
  std::vector<uint8_t> out(planes.size());
  const size_t area = shape.height * shape.width;
  for (size_t i = 0; i < area; ++i) {
    for (size_t c = 0; c < shape.channels; ++c) {
      out[i * shape.channels + c] = std::to_integer<uint8_t>(planes[c * area + i]);
    }
  }
  return out;
}

std::string guessed_from(size_t bytes) {
  return "guessed from " + std::to_string(bytes) + " bytes";
}

std::string in_words(const PixelShape& shape, std::string_view times) {
  std::string words = std::to_string(shape.height);
  words.append(times).append(std::to_string(shape.width));
  return words.append(times).append(std::to_string(shape.channels));
}

}  // namespace

std::optional<PixelGuess::Shape> PixelGuess::shape_of(const MessageView& record,
                                                      size_t bytes) const {
  if (said_.shape) {
    if (said_.shape->bytes() != bytes) return std::nullopt;
    return Shape{*said_.shape, "as " + said_.shape_called + " says"};
  }
  for (const std::string prefix : {"", "image/"}) {
    const auto height = number_of(record, prefix + "height");
    const auto width = number_of(record, prefix + "width");
    if (!height || !width || bytes % (*height * *width) != 0) continue;
    const size_t channels = bytes / (*height * *width);
    if (channels < 1 || channels > kMaxChannels) continue;
    return Shape{{*height, *width, channels}, "from the record's height and width"};
  }
  for (const KnownSize& known : kKnownSizes) {
    if (known.bytes != bytes) continue;
    return Shape{known.shape, guessed_from(bytes) + ", as in " + known.name};
  }
  for (const size_t channels : {3, 1}) {
    const auto side = static_cast<size_t>(std::lround(std::sqrt(double(bytes / channels))));
    if (side < 16 || side > kLongestSide || side * side * channels != bytes) continue;
    return Shape{{side, side, channels}, guessed_from(bytes) + ", a square"};
  }
  return std::nullopt;
}

std::string PixelGuess::misfit(size_t bytes) const {
  if (!said_.shape) {
    return std::to_string(bytes) +
           " bytes that are neither an image file nor pixels of a known shape";
  }
  return std::to_string(bytes) + " bytes, not the " + std::to_string(said_.shape->bytes()) +
         " of " + in_words(*said_.shape, "x");
}

std::vector<std::byte> PixelGuess::png(std::span<const std::byte> pixels, const Shape& shape) {
  const auto [height, width, channels] = shape.pixels;
  if (!first_) first_ = shape;
  if (!layout_ && channels > 1) layout_ = likelier_layout(pixels, shape.pixels);
  if (layout_ == PixelLayout::planar) {
    return encode_png(channels_last(pixels, shape.pixels), height, width, channels);
  }
  return encode_png({reinterpret_cast<const uint8_t*>(pixels.data()), pixels.size()}, height, width,
                    channels);
}

std::string PixelGuess::how() const {
  if (!first_) return "";
  std::string text = in_words(first_->pixels, " x ");
  if (layout_ && !is_grey()) {
    text += *layout_ == PixelLayout::planar ? ", planar (chw)" : ", interleaved (hwc)";
  }
  text += "; " + first_->why;
  if (layout_ && !is_grey() && !said_.layout) text += "; the layout guessed from the first image";
  return text;
}

}  // namespace recordpipe
