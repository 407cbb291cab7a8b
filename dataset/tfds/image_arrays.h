// Images as arrays: their types, shapes and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/example/dict.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/tfds/decode.h"

namespace recordpipe::tfds {

TensorType type_of(DType dtype);
// Of one image: [height, width, channels], or [channels, height, width].
std::vector<size_t> shape_of(const ImageFormat& format);

// The limit of all images of a sequence together: 16 times the largest image, of pixels of
// `pixel_size` bytes.
uint64_t max_bytes_of_images(const ExampleOptions& options, uint64_t pixel_size);

}  // namespace recordpipe::tfds
