// Converts images of a batch for TensorBoard and the report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/image/image_batch.h"

namespace recordpipe {

// Image `row` as 8-bit pixels, [height, width, channels]. uint8 values are unchanged. Others are
// mapped as in tf.summary.image, each image by itself: without negative values, 0 becomes 0 and the
// maximum 255; otherwise 0 becomes 128, and the value of largest magnitude becomes 1 or 255. A
// pixel with a non-finite channel becomes red (white in greyscale images).
std::vector<uint8_t> summary_pixels(const ImageBatch& batch, size_t row);

}  // namespace recordpipe
