// ReLU after a convolution or a dense layer: y = max(0, x), in place.
//
//   dx = dy where y > 0, 0 elsewhere
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace recordpipe::reference {

// NaN stays NaN, because std::max(NaN, 0) is its first argument.
template <class T>
void relu_forward(std::span<T> y) {
  for (T& value : y) value = std::max(value, T{0});
}

// Turns dy into dx.
template <class T>
void relu_backward(std::span<const T> y, std::span<T> dy) {
  for (size_t i = 0; i < y.size(); ++i)
    if (y[i] <= 0) dy[i] = 0;
}

}  // namespace recordpipe::reference
