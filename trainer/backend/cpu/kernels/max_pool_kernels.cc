#include "trainer/backend/cpu/kernels/max_pool_kernels.h"

#include <algorithm>

#include "trainer/backend/cpu/kernels/kernel_vectors.h"

namespace recordpipe::kernels {
namespace {

// The part of a window inside the image: [begin, end).
struct Range {
  size_t begin, end;
};

RECORDPIPE_INLINE Range inside(size_t output, size_t stride, size_t window, size_t padding,
                               size_t length) {
  const size_t start = output * stride;  // in the padded image
  return {start < padding ? 0 : start - padding, std::min(start + window - padding, length)};
}

// Calls body(index of y's pixel, rows, columns) for each window.
template <class Body>
RECORDPIPE_INLINE void for_each_window(const MaxPoolShape& shape, Body body) {
  for (size_t i = 0; i < shape.out_height; ++i) {
    const Range rows = inside(i, shape.stride, shape.window, shape.padding_top, shape.in_height);
    for (size_t j = 0; j < shape.out_width; ++j)
      body(i * shape.out_width + j, rows,
           inside(j, shape.stride, shape.window, shape.padding_left, shape.in_width));
  }
}

template <class Lanes>
RECORDPIPE_INLINE void max_pool_of(const MaxPoolShape& shape, const float* x_data, float* y_data) {
  using V = typename Lanes::Vector;
  const V* x = pixels_of<Lanes>(x_data);
  V* y = pixels_of<Lanes>(y_data);
  for_each_window(
      shape, [&](size_t pixel, Range rows, Range columns) __attribute__((always_inline)) {
        V greatest = x[rows.begin * shape.in_width + columns.begin];
        for (size_t row = rows.begin; row < rows.end; ++row)
          for (size_t column = columns.begin; column < columns.end; ++column) {
            const V value = x[row * shape.in_width + column];
            const V not_greater = value <= greatest ? greatest : value + greatest;  // NaN
            greatest = value > greatest ? value : not_greater;
          }
        y[pixel] = greatest;
      });
}

template <class Lanes>
RECORDPIPE_INLINE void max_pool_gradient_of(const MaxPoolShape& shape, const float* x_data,
                                            const float* y_data, const float* dy_data,
                                            float* dx_data) {
  using V = typename Lanes::Vector;
  const V* x = pixels_of<Lanes>(x_data);
  const V* y = pixels_of<Lanes>(y_data);
  const V* dy = pixels_of<Lanes>(dy_data);
  V* dx = pixels_of<Lanes>(dx_data);
  for (size_t p = 0; p < shape.in_height * shape.in_width; ++p) dx[p] = V{};
  for_each_window(
      shape, [&](size_t pixel, Range rows, Range columns) __attribute__((always_inline)) {
        V rest = dy[pixel];  // zeroed once the gradient has been assigned
        for (size_t row = rows.begin; row < rows.end; ++row)
          for (size_t column = columns.begin; column < columns.end; ++column) {
            const size_t p = row * shape.in_width + column;
            dx[p] += x[p] == y[pixel] ? rest : V{};
            rest = x[p] == y[pixel] ? V{} : rest;
          }
      });
}

}  // namespace

RECORDPIPE_CLONES void max_pool(size_t lanes, const MaxPoolShape& shape, const float* x,
                                float* y){RECORDPIPE_FOR_LANES(max_pool, shape, x, y)}

RECORDPIPE_CLONES void max_pool_gradient(size_t lanes, const MaxPoolShape& shape, const float* x,
                                         const float* y, const float* dy, float* dx) {
  RECORDPIPE_FOR_LANES(max_pool_gradient, shape, x, y, dy, dx)
}

}  // namespace recordpipe::kernels
