#include "dataset/tfds/image_arrays.h"

namespace recordpipe::tfds {

TensorType type_of(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return TensorType::uint8;
    case DType::uint16:
      return TensorType::uint16;
    case DType::float16:
      return TensorType::float16;
    case DType::bfloat16:
      return TensorType::bfloat16;
    case DType::float32:
      break;
  }
  return TensorType::float32;
}

std::vector<size_t> shape_of(const ImageFormat& format) {
  if (format.layout == Layout::nchw) return {format.channels, format.height, format.width};
  return {format.height, format.width, format.channels};
}

uint64_t max_bytes_of_images(const ExampleOptions& options, uint64_t pixel_size) {
  constexpr uint64_t kLargestImages = 16;
  uint64_t bytes = 0;
  const bool overflows =
      __builtin_mul_overflow(options.max_pixels, kLargestImages * pixel_size, &bytes);
  return overflows ? UINT64_MAX : bytes;
}

}  // namespace recordpipe::tfds
