// Convolution (cross-correlation, as in every deep-learning library), forward and backward.
//
//   x     [images][in][height][width]
//   w     [out][in][kernel][kernel]
//   bias  [out]
//   y     [images][out][(height + 2 padding - kernel) / stride + 1][the same of the width]
//
//   y(b, o, i, j) = bias(o) + Σ_{c, r, s} w(o, c, r, s) · x(b, c, row, column)
//
//   row = i · stride + r - padding      column = j · stride + s - padding
//
// where x is zero outside the image, and a missing bias is zero. for_each_product visits each
// product w · x in these sums once. The gradients sum over the same products: dx over all
// (o, r, s, i, j) that read this x, dw over all (b, i, j).
//
//   dx(b, c, row, column) = Σ w(o, c, r, s) · dy(b, o, i, j)
//   dw(o, c, r, s)        = Σ x(b, c, row, column) · dy(b, o, i, j)
//   dbias(o)              = Σ dy(b, o, i, j)
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe::reference {

struct Conv2dShape {
  size_t images;
  FeatureShape input;
  FeatureShape output;
  size_t kernel;
  size_t stride;
  size_t padding;
};

// Calls visit(output channel, index in y) for every y.
template <class Visit>
void for_each_output(const Conv2dShape& shape, Visit visit) {
  for (size_t b = 0; b < shape.images; ++b)
    for (size_t o = 0; o < shape.output.channels; ++o)
      for (size_t p = 0; p < shape.output.pixels(); ++p)
        visit(o, (b * shape.output.channels + o) * shape.output.pixels() + p);
}

// Calls visit(index in y, index in w, index in x).
template <class Visit>
void for_each_product(const Conv2dShape& shape, Visit visit) {
  const auto& [images, in, out, kernel, stride, padding] = shape;
  for (size_t b = 0; b < images; ++b)
    for (size_t o = 0; o < out.channels; ++o)
      for (size_t c = 0; c < in.channels; ++c)
        for (size_t r = 0; r < kernel; ++r)
          for (size_t s = 0; s < kernel; ++s) {
            const size_t w = ((o * in.channels + c) * kernel + r) * kernel + s;
            for (size_t i = 0; i < out.height; ++i) {
              // A negative row or column wraps around to a huge one, which is skipped too.
              const size_t row = i * stride + r - padding;
              if (row >= in.height) continue;
              for (size_t j = 0; j < out.width; ++j) {
                const size_t column = j * stride + s - padding;
                if (column >= in.width) continue;
                const size_t y = ((b * out.channels + o) * out.height + i) * out.width + j;
                const size_t x = ((b * in.channels + c) * in.height + row) * in.width + column;
                visit(y, w, x);
              }
            }
          }
}

// `bias` may be empty.
template <class T>
void conv2d_forward(const Conv2dShape& shape, std::span<const T> x, std::span<const T> w,
                    std::span<const T> bias, std::span<T> y) {
  for_each_output(shape, [&](size_t o, size_t iy) { y[iy] = bias.empty() ? T{0} : bias[o]; });
  for_each_product(shape, [&](size_t iy, size_t iw, size_t ix) { y[iy] += w[iw] * x[ix]; });
}

// Adds to dx.
template <class T>
void conv2d_backward_data(const Conv2dShape& shape, std::span<const T> w, std::span<const T> dy,
                          std::span<T> dx) {
  for_each_product(shape, [&](size_t iy, size_t iw, size_t ix) { dx[ix] += w[iw] * dy[iy]; });
}

// Overwrites dw.
template <class T>
void conv2d_backward_weights(const Conv2dShape& shape, std::span<const T> x, std::span<const T> dy,
                             std::span<T> dw) {
  std::fill(dw.begin(), dw.end(), T{0});
  for_each_product(shape, [&](size_t iy, size_t iw, size_t ix) { dw[iw] += x[ix] * dy[iy]; });
}

// Overwrites dbias.
template <class T>
void conv2d_backward_bias(const Conv2dShape& shape, std::span<const T> dy, std::span<T> dbias) {
  std::fill(dbias.begin(), dbias.end(), T{0});
  for_each_output(shape, [&](size_t o, size_t iy) { dbias[o] += dy[iy]; });
}

// Compiled in reference_runner.cc, also for tests, which are optimised less: finite differences
// spend their time here.
extern template void conv2d_forward(const Conv2dShape&, std::span<const double>,
                                    std::span<const double>, std::span<const double>,
                                    std::span<double>);

}  // namespace recordpipe::reference
