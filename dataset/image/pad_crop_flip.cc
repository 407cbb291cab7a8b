// One pass over the crop's rows: clip, convert, interleave.
#include "dataset/image/pad_crop_flip.h"

#include <algorithm>

#include "dataset/base/error.h"

namespace recordpipe {
namespace {

// The part of a crop's row or column that lies inside the image: out[begin, end) comes from
// image[begin + shift, end + shift).
struct Inside {
  size_t begin;
  size_t end;
};

Inside inside(int shift, size_t size) {
  const auto n = static_cast<int>(size);
  return {static_cast<size_t>(std::clamp(-shift, 0, n)),
          static_cast<size_t>(std::clamp(n - shift, 0, n))};
}

template <class T>
void crop_to(const uint8_t* image, const PadCropFlip& crop, const ImageFormat& format, T* out) {
  const size_t height = format.height;
  const size_t width = format.width;
  const size_t channels = format.channels;
  const bool nchw = format.layout == Layout::nchw;
  // How far apart the values of neighbouring pixels, rows and channels are in `out`.
  const size_t pixel = nchw ? 1 : channels;
  const size_t row = width * pixel;
  const size_t channel = nchw ? height * width : 1;
  const Inside rows = inside(crop.top, height);
  const Inside columns = inside(crop.left, width);
  if (rows.end - rows.begin < height || columns.end - columns.begin < width) {
    std::fill_n(out, format.values_per_image(), T{0});
  }
  for (size_t c = 0; c < channels; ++c) {
    for (size_t y = rows.begin; y < rows.end; ++y) {
      // Wraps around and back for a crop that begins before the image.
      const size_t from =
          (c * height + y + static_cast<size_t>(crop.top)) * width + static_cast<size_t>(crop.left);
      T* to = out + c * channel + y * row;
      if (crop.flip) {
        for (size_t x = columns.begin; x < columns.end; ++x) {
          to[(width - 1 - x) * pixel] = static_cast<T>(image[from + x]);
        }
      } else {
        for (size_t x = columns.begin; x < columns.end; ++x) {
          to[x * pixel] = static_cast<T>(image[from + x]);
        }
      }
    }
  }
}

}  // namespace

PadCropFlip PadCropFlip::draw(Random& random, int pad) {
  const auto places = static_cast<uint32_t>(2 * pad + 1);
  PadCropFlip crop;
  crop.top = static_cast<int>(random.below(places)) - pad;
  crop.left = static_cast<int>(random.below(places)) - pad;
  crop.flip = random.below(2) == 1;
  return crop;
}

void pad_crop_flip(std::span<const uint8_t> image, const PadCropFlip& crop,
                   const ImageFormat& format, std::byte* out) {
  if (image.size() != format.values_per_image()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "an image of " + std::to_string(image.size()) + " bytes where " +
                           std::to_string(format.values_per_image()) + " were expected"});
  }
  if (format.dtype == DType::float32) {
    crop_to(image.data(), crop, format, reinterpret_cast<float*>(out));
  } else {
    crop_to(image.data(), crop, format, reinterpret_cast<uint8_t*>(out));
  }
}

}  // namespace recordpipe
