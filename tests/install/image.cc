// Flips an image of two pixels.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "recordpipe/image/pad_crop_flip.h"

using namespace recordpipe;

int main() {
  const std::vector<uint8_t> image = {7, 9};
  const ImageFormat format = {.height = 1, .width = 2, .channels = 1, .dtype = DType::uint8};
  std::vector<std::byte> out(format.bytes_per_image());
  pad_crop_flip(image, {.flip = true}, format, out.data());
  std::printf("%d %d\n", static_cast<int>(out[0]), static_cast<int>(out[1]));
}
