// Images of a batch as TensorBoard and the report show them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/image/image_batch.h"

namespace recordpipe {

// Image `row` as 8-bit pixels, [height, width, channels]. Numbers of type uint8 are taken as they
// are. Others are mapped as tf.summary.image does, each image by itself: where none is negative, 0
// becomes 0 and the greatest 255; otherwise 0 becomes 128, and the number that is farthest from 0
// becomes 1 or 255. A pixel that is not finite in all channels becomes red (white where there are
// no colours).
std::vector<uint8_t> summary_pixels(const ImageBatch& batch, size_t row);

}  // namespace recordpipe
