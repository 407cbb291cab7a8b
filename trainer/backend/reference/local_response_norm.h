// Local response normalisation across channels (Krizhevsky et al. 2012,
// https://papers.nips.cc/paper/4824, section 3.3).
//
//   x, y  [images][channels][pixels]      N(c) = the channels from c - radius to c + radius
//
//   d(c) = bias + alpha · Σ_{n in N(c)} x(n)²      y(c) = x(c) · d(c)^-beta
//
// of the same image and pixel. n is in N(c) if and only if c is in N(n), so x(c) is in d(n) for the
// n in N(c), where dd(n)/dx(c) = 2 · alpha · x(c):
//
//   dx(c) = dy(c) · d(c)^-beta - 2 · alpha · beta · x(c) · Σ_{n in N(c)} e(n)
//   e(n)  = dy(n) · x(n) · d(n)^(-beta - 1)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace recordpipe::reference {

struct LocalResponseNormShape {
  size_t images;
  size_t channels;
  size_t pixels;
  size_t radius;
  double bias;
  double alpha;
  double beta;
};

// Σ value(index) over the channels of N(c), which are those of the same pixel; i = index of c in x.
template <class T, class Value>
T sum_of_neighbours(const LocalResponseNormShape& shape, size_t i, Value value) {
  const size_t channel = i / shape.pixels % shape.channels;
  const size_t below = std::min(shape.radius, channel);
  const size_t above = std::min(shape.radius, shape.channels - 1 - channel);
  T sum = 0;
  for (size_t n = 0; n <= below + above; ++n) sum += value(i + (n - below) * shape.pixels);
  return sum;
}

// d of the value with index i in x.
template <class T>
T divisor(const LocalResponseNormShape& shape, std::span<const T> x, size_t i) {
  return static_cast<T>(shape.bias) +
         static_cast<T>(shape.alpha) *
             sum_of_neighbours<T>(shape, i, [&](size_t n) { return x[n] * x[n]; });
}

template <class T>
void local_response_norm_forward(const LocalResponseNormShape& shape, std::span<const T> x,
                                 std::span<T> y) {
  const T beta = static_cast<T>(shape.beta);
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * std::pow(divisor(shape, x, i), -beta);
}

// Adds to dx.
template <class T>
void local_response_norm_backward(const LocalResponseNormShape& shape, std::span<const T> x,
                                  std::span<const T> dy, std::span<T> dx) {
  const T alpha = static_cast<T>(shape.alpha), beta = static_cast<T>(shape.beta);
  for (size_t i = 0; i < x.size(); ++i) {
    const T sum = sum_of_neighbours<T>(shape, i, [&](size_t n) {
      return dy[n] * x[n] * std::pow(divisor(shape, x, n), -beta - 1);
    });
    dx[i] += dy[i] * std::pow(divisor(shape, x, i), -beta) - 2 * alpha * beta * x[i] * sum;
  }
}

}  // namespace recordpipe::reference
