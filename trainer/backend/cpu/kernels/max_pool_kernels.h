// Max pooling of one plane [pixels][lanes] (see kernels.h), `lanes` being 16, 8 or 1.
#pragma once

#include <cstddef>

namespace recordpipe::kernels {

struct MaxPoolShape {
  size_t window, stride;
  size_t padding_top, padding_left;
  size_t in_height, in_width;
  size_t out_height, out_width;
};

// NaN counts as the maximum.
void max_pool(size_t lanes, const MaxPoolShape& shape, const float* x, float* y);

// The gradient of y goes to the first x of its window that is equal to y; overwrites `dx`.
void max_pool_gradient(size_t lanes, const MaxPoolShape& shape, const float* x, const float* y,
                       const float* dy, float* dx);

}  // namespace recordpipe::kernels
