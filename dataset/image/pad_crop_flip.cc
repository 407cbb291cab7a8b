// The random crop, through write_window().
#include "recordpipe/image/pad_crop_flip.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/image/crop_window.h"

namespace recordpipe {

PadCropFlip PadCropFlip::draw(Random& random, int pad) {
  const auto places = static_cast<uint32_t>(2 * pad + 1);
  PadCropFlip crop;
  crop.top = static_cast<int>(random.below(places)) - pad;
  crop.left = static_cast<int>(random.below(places)) - pad;
  crop.flip = random.below(2) == 1;
  return crop;
}

void pad_crop_flip(std::span<const uint8_t> image, const PadCropFlip& crop,
                   const ImageFormat& format, std::byte* out, const Normalization& normalization,
                   const uint8_t* next) {
  if (image.size() != format.values_per_image()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "an image of " + std::to_string(image.size()) + " bytes where " +
                           std::to_string(format.values_per_image()) + " were expected"});
  }
  check(normalization, format);
  const CropWindow window = {.image = image.data(),
                             .image_height = format.height,
                             .image_width = format.width,
                             .top = crop.top,
                             .left = crop.left,
                             .flip = crop.flip,
                             .next = next};
  write_window(window, format, channel_map(normalization, window, format), out);
}

std::vector<Parameter> ImageCollator::parameters() const {
  std::vector<Parameter> all = format.parameters();
  std::ranges::move(normalization.parameters(), std::back_inserter(all));
  return all;
}

}  // namespace recordpipe
