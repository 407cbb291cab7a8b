#include "recordpipe/image/resized_crop.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "dataset/base/require.h"
#include "dataset/image/size_text.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr int kTries = 10;

// In [0, 1), of 53 bits: two draws.
double uniform(Random& random) { return static_cast<double>(random.next64() >> 11) * 0x1p-53; }

double double_between(Random& random, double low, double high) {
  return low + uniform(random) * (high - low);
}

size_t rounded(double size) { return static_cast<size_t>(std::max(1.0, std::nearbyint(size))); }

size_t place(Random& random, size_t image, size_t crop) {
  return static_cast<size_t>(random.below64(image - crop + 1));
}

ImagePart draw_crop(Random& random, const ImageSize& image, const CropRanges& ranges) {
  const auto height = static_cast<double>(image.height);
  const auto width = static_cast<double>(image.width);
  const double low = std::log(ranges.min_ratio);
  const double high = std::log(ranges.max_ratio);
  for (int i = 0; i < kTries; ++i) {
    const double area = height * width * double_between(random, ranges.min_scale, ranges.max_scale);
    const double ratio = std::exp(double_between(random, low, high));
    const double crop_width = std::nearbyint(std::sqrt(area * ratio));
    const double crop_height = std::nearbyint(std::sqrt(area / ratio));
    if (crop_width < 1 || crop_height < 1 || crop_width > width || crop_height > height) continue;
    ImagePart crop{0, 0, static_cast<size_t>(crop_height), static_cast<size_t>(crop_width)};
    crop.top = place(random, image.height, crop.height);
    crop.left = place(random, image.width, crop.width);
    return crop;
  }
  ImagePart crop{0, 0, image.height, image.width};
  if (width / height < ranges.min_ratio) {
    crop.height = std::min(image.height, rounded(width / ranges.min_ratio));
  } else if (width / height > ranges.max_ratio) {
    crop.width = std::min(image.width, rounded(height * ranges.max_ratio));
  }
  crop.top = (image.height - crop.height) / 2;
  crop.left = (image.width - crop.width) / 2;
  return crop;
}

// Half of the difference, rounded half to even.
size_t central_place(size_t image, size_t crop) {
  const size_t difference = image - crop;
  const size_t half = difference / 2;
  return half + (difference % 2 == 1 && half % 2 == 1 ? 1 : 0);
}

}  // namespace

void check(const CropRanges& ranges) {
  require(ranges.min_scale > 0 && ranges.min_scale <= ranges.max_scale && ranges.max_scale <= 1,
          "the scales of a crop must be above 0, in order, and at most 1");
  require(ranges.min_ratio > 0 && ranges.min_ratio <= ranges.max_ratio &&
              std::isfinite(ranges.max_ratio),
          "the ratios of a crop must be above 0, and in order");
}

ImageSize size_of_short_side(const ImageSize& image, size_t short_side) {
  const size_t shorter = std::min(image.height, image.width);
  const size_t longer = std::max(image.height, image.width);
  if (shorter < 1 || short_side > kMaxResizedSide || longer > kMaxResizedSide ||
      longer * short_side / shorter > kMaxResizedSide) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .reason = "an image of " + size_text(image) + " whose short side becomes " +
                           std::to_string(short_side) + " is too large"});
  }
  const size_t other = longer * short_side / shorter;
  return image.height <= image.width ? ImageSize{short_side, other} : ImageSize{other, short_side};
}

ResizedCrop ResizedCrop::draw(Random& random, const ImageSize& image, const ImageSize& to,
                              const CropRanges& ranges, const Resampling& resampling) {
  check(ranges);
  ResizedCrop drawn{draw_crop(random, image, ranges), {}};
  drawn.resized = Resized::whole(drawn.crop.size(), to, resampling);
  drawn.resized.flip = ranges.flip && random.below(2) == 1;
  return drawn;
}

ResizedCrop ResizedCrop::central(const ImageSize& image, const ImageSize& to,
                                 const ImageSize& center, const Resampling& resampling) {
  if (center.height > to.height || center.width > to.width) {
    throw Error(
        {.kind = ErrorKind::unsupported,
         .reason = "a crop of " + size_text(center) + " from an image of " + size_text(to)});
  }
  ResizedCrop central{{0, 0, image.height, image.width}, Resized::whole(image, to, resampling)};
  central.resized.window = {central_place(to.height, center.height),
                            central_place(to.width, center.width), center.height, center.width};
  return central;
}

int ResizedCrop::shrinks_by() const {
  for (const int by : {8, 4, 2}) {
    const auto factor = static_cast<size_t>(by);
    if (crop.height >= factor * resized.to.height && crop.width >= factor * resized.to.width) {
      return by;
    }
  }
  return 1;
}

namespace {

// Rows or columns: of the scaled image, and the box inside of them.
struct ScaledRange {
  size_t begin;
  size_t size;
  double box_begin;
  double box_size;
};

ScaledRange scaled_range(size_t begin, size_t size, size_t offset, size_t by, size_t scaled_size) {
  const double first = static_cast<double>(begin + offset) / static_cast<double>(by);
  const double count = static_cast<double>(size) / static_cast<double>(by);
  const size_t from = (begin + offset) / by;
  const size_t end = std::min((begin + offset + size + by - 1) / by, scaled_size);
  return {from, end - from, first - static_cast<double>(from), count};
}

}  // namespace

ResizedCrop ResizedCrop::of_scaled(const ImageSize& scaled, int denominator, size_t top,
                                   size_t left) const {
  const auto by = static_cast<size_t>(denominator);
  const ScaledRange rows = scaled_range(crop.top, crop.height, top, by, scaled.height);
  const ScaledRange columns = scaled_range(crop.left, crop.width, left, by, scaled.width);
  ResizedCrop result{{rows.begin, columns.begin, rows.size, columns.size}, resized};
  result.resized.from = result.crop.size();
  result.resized.box = {rows.box_begin, columns.box_begin, rows.box_size, columns.box_size};
  return result;
}

ImagePart ResizedCrop::source() const {
  ImagePart part = resized.source();
  part.top += crop.top;
  part.left += crop.left;
  return part;
}

}  // namespace recordpipe
