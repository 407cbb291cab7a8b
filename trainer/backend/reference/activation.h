// GELU (Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415) and SiLU.
//
//   GELU  y = x · Φ(x)    dx = dy · (Φ(x) + x · φ(x))
//   SiLU  y = x · σ(x)    dx = dy · σ(x) · (1 + x · (1 - σ(x)))
//
// Φ and φ are the distribution function and the density of the standard normal distribution, σ(x) =
// 1 / (1 + exp(-x)).
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe::reference {

// Φ(x) or σ(x): the factor of x in y.
template <class T>
T gate(Activation function, T x) {
  return function == Activation::gelu ? std::erfc(-x / std::numbers::sqrt2_v<T>) / 2
                                      : 1 / (1 + std::exp(-x));
}

// Its derivative.
template <class T>
T gate_gradient(Activation function, T x) {
  if (function == Activation::gelu)
    return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
  const T sigma = gate(function, x);
  return sigma * (1 - sigma);
}

template <class T>
void activation_forward(Activation function, std::span<const T> x, std::span<T> y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * gate(function, x[i]);
}

// Adds to dx.
template <class T>
void activation_backward(Activation function, std::span<const T> x, std::span<const T> dy,
                         std::span<T> dx) {
  for (size_t i = 0; i < x.size(); ++i)
    dx[i] += dy[i] * (gate(function, x[i]) + x[i] * gate_gradient(function, x[i]));
}

}  // namespace recordpipe::reference
