// The shortcut of a residual block that reduces the image and adds channels.
//
//   x  [images][in channels][height][width]
//   y  [images][out channels][height / stride][width / stride]
//
// Channel before + c of y is the average of channel c of x over stride × stride windows, where
// before = (out channels - in channels) / 2; the other channels of y are zero. Backward, each x
// gets 1 / stride² of the gradient of its average: dx += dy / stride².
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe::reference {

struct PoolAndPadShape {
  size_t images;
  FeatureShape input;
  FeatureShape output;
  size_t stride;
};

// Calls visit(index in y, index in x) for every x in an average.
template <class Visit>
void for_each_pooled(const PoolAndPadShape& shape, Visit visit) {
  const auto& [images, in, out, stride] = shape;
  const size_t before = (out.channels - in.channels) / 2;
  for (size_t b = 0; b < images; ++b)
    for (size_t c = 0; c < in.channels; ++c)
      for (size_t i = 0; i < in.height; ++i)
        for (size_t j = 0; j < in.width; ++j) {
          const size_t y =
              ((b * out.channels + before + c) * out.height + i / stride) * out.width + j / stride;
          const size_t x = ((b * in.channels + c) * in.height + i) * in.width + j;
          visit(y, x);
        }
}

template <class T>
void pool_and_pad_forward(const PoolAndPadShape& shape, std::span<const T> x, std::span<T> y) {
  const T share = T{1} / static_cast<T>(shape.stride * shape.stride);
  std::fill(y.begin(), y.end(), T{0});
  for_each_pooled(shape, [&](size_t iy, size_t ix) { y[iy] += share * x[ix]; });
}

// Adds to dx.
template <class T>
void pool_and_pad_backward(const PoolAndPadShape& shape, std::span<const T> dy, std::span<T> dx) {
  const T share = T{1} / static_cast<T>(shape.stride * shape.stride);
  for_each_pooled(shape, [&](size_t iy, size_t ix) { dx[ix] += share * dy[iy]; });
}

}  // namespace recordpipe::reference
