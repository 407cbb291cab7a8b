// The rectifier that follows a convolution or a dense layer: y = max(0, x), in place.
//
//   dx = dy where y > 0, 0 elsewhere
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace recordpipe::reference {

// What is not a number stays so.
template <class T>
void relu_forward(std::span<T> y) {
  for (T& value : y) value = std::max(value, T{0});
}

// dy becomes dx.
template <class T>
void relu_backward(std::span<const T> y, std::span<T> dy) {
  for (size_t i = 0; i < y.size(); ++i)
    if (y[i] <= 0) dy[i] = 0;
}

}  // namespace recordpipe::reference
