// A dense layer: y = w · x + bias.
//
//   x  [images][in]      w  [out][in]      bias  [out]      y  [images][out]
//
//   dx = wᵀ · dy         dw = Σ dy · xᵀ    dbias = Σ dy     (sums over the images)
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace recordpipe::reference {

struct DenseShape {
  size_t images;
  size_t in;
  size_t out;
};

template <class T>
void dense_forward(const DenseShape& shape, std::span<const T> x, std::span<const T> w,
                   std::span<const T> bias, std::span<T> y) {
  for (size_t b = 0; b < shape.images; ++b)
    for (size_t o = 0; o < shape.out; ++o) {
      T sum = bias[o];
      for (size_t i = 0; i < shape.in; ++i) sum += w[o * shape.in + i] * x[b * shape.in + i];
      y[b * shape.out + o] = sum;
    }
}

// Adds to dx; overwrites dw and dbias.
template <class T>
void dense_backward(const DenseShape& shape, std::span<const T> x, std::span<const T> w,
                    std::span<const T> dy, std::span<T> dx, std::span<T> dw, std::span<T> dbias) {
  std::fill(dw.begin(), dw.end(), T{0});
  std::fill(dbias.begin(), dbias.end(), T{0});
  for (size_t b = 0; b < shape.images; ++b)
    for (size_t o = 0; o < shape.out; ++o) {
      const T g = dy[b * shape.out + o];
      dbias[o] += g;
      for (size_t i = 0; i < shape.in; ++i) {
        dw[o * shape.in + i] += g * x[b * shape.in + i];
        dx[b * shape.in + i] += g * w[o * shape.in + i];
      }
    }
}

}  // namespace recordpipe::reference
