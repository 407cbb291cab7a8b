#include "trainer/backend/cpu/local_response_norm_kernels.h"

#include <cmath>

#include "trainer/backend/cpu/kernel_vectors.h"

namespace recordpipe::kernels {
namespace {

// The channels of one pixel, brought together so that vectors may start at any of them. Neighbours
// are asked for up to `radius` beyond both ends: `terms` is zero there, always.
struct Pixel {
  size_t channels, radius;
  float *x, *dy, *divisors, *powers, *sums, *terms;

  RECORDPIPE_INLINE Pixel(const LocalResponseNormShape& shape, float* workspace)
      : channels(shape.channels),
        radius(shape.radius),
        x(workspace),
        dy(x + channels),
        divisors(dy + channels),
        powers(divisors + channels),
        sums(powers + channels),
        terms(sums + channels + radius) {}
};

RECORDPIPE_INLINE void gather(const LocalResponseNormShape& shape, size_t pixel, const float* from,
                              float* to) {
  for (size_t channel = 0; channel < shape.channels; channel += shape.lanes) {
    const float* block = from + channel * shape.pixels + pixel * shape.lanes;
#pragma omp simd
    for (size_t lane = 0; lane < shape.lanes; ++lane) to[channel + lane] = block[lane];
  }
}

RECORDPIPE_INLINE void scatter(const LocalResponseNormShape& shape, size_t pixel, const float* from,
                               float* to) {
  for (size_t channel = 0; channel < shape.channels; channel += shape.lanes) {
    float* block = to + channel * shape.pixels + pixel * shape.lanes;
#pragma omp simd
    for (size_t lane = 0; lane < shape.lanes; ++lane) block[lane] = from[channel + lane];
  }
}

// sums(c) = Σ terms(n) for the n at most `radius` away from c.
RECORDPIPE_INLINE void sum_neighbours(const Pixel& at) {
  const float* first = at.terms - at.radius;
#pragma omp simd
  for (size_t c = 0; c < at.channels; ++c) at.sums[c] = first[c];
  for (size_t n = 1; n <= 2 * at.radius; ++n)
#pragma omp simd
    for (size_t c = 0; c < at.channels; ++c) at.sums[c] += first[c + n];
}

// divisors = bias + alpha · Σ x², powers = divisors^-beta.
RECORDPIPE_INLINE void set_powers(const LocalResponseNormShape& shape, const Pixel& at) {
#pragma omp simd
  for (size_t c = 0; c < at.channels; ++c) at.terms[c] = at.x[c] * at.x[c];
  sum_neighbours(at);
#pragma omp simd
  for (size_t c = 0; c < at.channels; ++c) at.divisors[c] = shape.bias + shape.alpha * at.sums[c];
  if (shape.beta == 0.75f) {  // the usual one; square roots are vector instructions
#pragma omp simd
    for (size_t c = 0; c < at.channels; ++c) {
      const float root = std::sqrt(at.divisors[c]);
      at.powers[c] = 1 / (root * std::sqrt(root));
    }
  } else {
    for (size_t c = 0; c < at.channels; ++c) at.powers[c] = std::pow(at.divisors[c], -shape.beta);
  }
}

}  // namespace

size_t local_response_norm_workspace(const LocalResponseNormShape& shape) {
  return 6 * shape.channels + 2 * shape.radius;
}

RECORDPIPE_CLONES void local_response_norm(const LocalResponseNormShape& shape, const float* x,
                                           float* workspace, float* y) {
  const Pixel at(shape, workspace);
  for (size_t pixel = 0; pixel < shape.pixels; ++pixel) {
    gather(shape, pixel, x, at.x);
    set_powers(shape, at);
#pragma omp simd
    for (size_t c = 0; c < at.channels; ++c) at.x[c] *= at.powers[c];
    scatter(shape, pixel, at.x, y);
  }
}

// With d = divisors: dx = dy · d^-beta - 2 · alpha · beta · x · Σ dy · x · d^(-beta - 1).
RECORDPIPE_CLONES void local_response_norm_gradient(const LocalResponseNormShape& shape,
                                                    const float* x, const float* dy,
                                                    float* workspace, float* dx) {
  const Pixel at(shape, workspace);
  const float factor = 2 * shape.alpha * shape.beta;
  for (size_t pixel = 0; pixel < shape.pixels; ++pixel) {
    gather(shape, pixel, x, at.x);
    gather(shape, pixel, dy, at.dy);
    set_powers(shape, at);
#pragma omp simd
    for (size_t c = 0; c < at.channels; ++c)
      at.terms[c] = at.dy[c] * at.x[c] * at.powers[c] / at.divisors[c];
    sum_neighbours(at);
#pragma omp simd
    for (size_t c = 0; c < at.channels; ++c)
      at.dy[c] = at.dy[c] * at.powers[c] - factor * at.x[c] * at.sums[c];
    scatter(shape, pixel, at.dy, dx);
  }
}

}  // namespace recordpipe::kernels
