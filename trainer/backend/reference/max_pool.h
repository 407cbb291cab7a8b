// The maximum of each window.
//
//   x  [images · channels][height][width]      y  [images · channels][out height][out width]
//
//   y(c, i, j) = max_{r, s} x(c, i·stride + r - padding top, j·stride + s - padding left)
//
// over the r and s in 0 .. window - 1 that lie inside the image. The gradient of y goes to the
// maximal x; of several equal ones, to the first in row-major order.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe::reference {

struct MaxPoolShape {
  size_t images;
  FeatureShape input;
  FeatureShape output;
  size_t window;
  size_t stride;
  size_t padding_top;
  size_t padding_left;
};

// Calls visit(index in y, index of the maximum in x). NaN counts as the maximum, so that it isn't
// lost.
template <class T, class Visit>
void for_each_greatest(const MaxPoolShape& shape, std::span<const T> x, Visit visit) {
  const auto& [images, in, out, window, stride, padding_top, padding_left] = shape;
  for (size_t plane = 0; plane < images * in.channels; ++plane)
    for (size_t i = 0; i < out.height; ++i)
      for (size_t j = 0; j < out.width; ++j) {
        size_t greatest = x.size();  // none found
        for (size_t r = 0; r < window; ++r)
          for (size_t s = 0; s < window; ++s) {
            const size_t row = i * stride + r - padding_top;  // wraps around above the image
            const size_t column = j * stride + s - padding_left;
            if (row >= in.height || column >= in.width) continue;
            const size_t ix = (plane * in.height + row) * in.width + column;
            if (greatest == x.size() || x[ix] > x[greatest] || std::isnan(x[ix])) greatest = ix;
          }
        visit((plane * out.height + i) * out.width + j, greatest);
      }
}

template <class T>
void max_pool_forward(const MaxPoolShape& shape, std::span<const T> x, std::span<T> y) {
  for_each_greatest(shape, x, [&](size_t iy, size_t ix) { y[iy] = x[ix]; });
}

// Adds to dx.
template <class T>
void max_pool_backward(const MaxPoolShape& shape, std::span<const T> x, std::span<const T> dy,
                       std::span<T> dx) {
  for_each_greatest(shape, x, [&](size_t iy, size_t ix) { dx[ix] += dy[iy]; });
}

}  // namespace recordpipe::reference
