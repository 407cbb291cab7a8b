// The mean over all pixels: x [images · channels][pixels] → y [images · channels].
// Backward: dx[i][pixel] += dy[i] / pixels.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>

namespace recordpipe::reference {

template <class T>
void global_average_pool_forward(size_t pixels, std::span<const T> x, std::span<T> y) {
  for (size_t i = 0; i < y.size(); ++i) {
    const std::span<const T> plane = x.subspan(i * pixels, pixels);
    y[i] = std::accumulate(plane.begin(), plane.end(), T{0}) / static_cast<T>(pixels);
  }
}

// Adds to dx.
template <class T>
void global_average_pool_backward(size_t pixels, std::span<const T> dy, std::span<T> dx) {
  for (size_t i = 0; i < dy.size(); ++i)
    for (T& value : dx.subspan(i * pixels, pixels)) value += dy[i] / static_cast<T>(pixels);
}

}  // namespace recordpipe::reference
