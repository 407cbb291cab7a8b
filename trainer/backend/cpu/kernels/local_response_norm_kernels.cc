#include "trainer/backend/cpu/kernels/local_response_norm_kernels.h"

#include <algorithm>
#include <cmath>

#include "trainer/backend/cpu/kernels/kernel_vectors.h"

namespace recordpipe::kernels {
namespace {

// Pixels are processed in tiles, operation by operation: stored values are then complete before the
// next operation loads them at another offset. A tile fits in the first-level cache.
constexpr size_t tile_pixels = 16;

// The channels of each pixel of a tile, contiguous, so that vectors may start at any channel.
// Neighbours are read up to `radius` beyond both ends; there `terms` is always zero.
struct Tile {
  size_t first, pixels;  // of the image
  size_t channels, radius;
  float *x, *dy, *powers, *inverses, *sums, *padded_terms;

  RECORDPIPE_INLINE Tile(const LocalResponseNormShape& shape, size_t first_pixel, float* workspace)
      : first(first_pixel),
        pixels(std::min(tile_pixels, shape.pixels - first)),
        channels(shape.channels),
        radius(shape.radius),
        x(workspace),
        dy(x + tile_pixels * channels),
        powers(dy + tile_pixels * channels),
        inverses(powers + tile_pixels * channels),
        sums(inverses + tile_pixels * channels),
        padded_terms(sums + tile_pixels * channels) {}

  size_t size() const { return pixels * channels; }
  // The terms of the first channel's first neighbour.
  float* neighbours(size_t pixel) const { return padded_terms + pixel * (channels + 2 * radius); }
};

template <class Lanes>
RECORDPIPE_INLINE void gather(const LocalResponseNormShape& shape, const Tile& tile,
                              const float* from, float* to) {
  using V = typename Lanes::Vector;
  for (size_t channel = 0; channel < shape.channels; channel += shape.lanes) {
    const V* block = pixels_of<Lanes>(from + channel * shape.pixels) + tile.first;
    for (size_t pixel = 0; pixel < tile.pixels; ++pixel)
      *pixels_of<Lanes>(to + pixel * shape.channels + channel) = block[pixel];
  }
}

template <class Lanes>
RECORDPIPE_INLINE void scatter(const LocalResponseNormShape& shape, const Tile& tile,
                               const float* from, float* to) {
  using V = typename Lanes::Vector;
  for (size_t channel = 0; channel < shape.channels; channel += shape.lanes) {
    V* block = pixels_of<Lanes>(to + channel * shape.pixels) + tile.first;
    for (size_t pixel = 0; pixel < tile.pixels; ++pixel)
      block[pixel] = *pixels_of<Lanes>(from + pixel * shape.channels + channel);
  }
}

// sums(c) = Σ term(n) over the channels n of the same pixel with |n - c| <= radius.
template <class Lanes, class Term>
RECORDPIPE_INLINE void sum_neighbours(const LocalResponseNormShape& shape, const Tile& tile,
                                      Term term) {
  using V = typename Lanes::Vector;
  for (size_t pixel = 0; pixel < tile.pixels; ++pixel) {
    float* terms = tile.neighbours(pixel) + tile.radius;
#pragma omp simd
    for (size_t c = 0; c < tile.channels; ++c) terms[c] = term(pixel * tile.channels + c);
  }
  for (size_t pixel = 0; pixel < tile.pixels; ++pixel)
    for (size_t c = 0; c < tile.channels; c += shape.lanes) {
      const float* first = tile.neighbours(pixel) + c;
      V sum = *pixels_of<Lanes>(first);
      for (size_t n = 1; n <= 2 * tile.radius; ++n) sum += *pixels_of<Lanes>(first + n);
      *pixels_of<Lanes>(tile.sums + pixel * tile.channels + c) = sum;
    }
}

// With d = bias + alpha · Σ x²: powers = d^-beta, inverses = 1 / d.
template <class Lanes>
RECORDPIPE_INLINE void set_powers(const LocalResponseNormShape& shape, const Tile& tile) {
  sum_neighbours<Lanes>(
      shape, tile, [&](size_t i) __attribute__((always_inline)) { return tile.x[i] * tile.x[i]; });
  if (shape.beta == 0.75f) {  // the usual value; square roots are vector instructions
#pragma omp simd
    for (size_t i = 0; i < tile.size(); ++i) {
      const float inverse = 1 / (shape.bias + shape.alpha * tile.sums[i]);
      const float root = std::sqrt(inverse);
      tile.inverses[i] = inverse;
      tile.powers[i] = root * std::sqrt(root);
    }
  } else {
    for (size_t i = 0; i < tile.size(); ++i) {
      const float divisor = shape.bias + shape.alpha * tile.sums[i];
      tile.inverses[i] = 1 / divisor;
      tile.powers[i] = std::pow(divisor, -shape.beta);
    }
  }
}

template <class Lanes>
RECORDPIPE_INLINE void local_response_norm_of(const LocalResponseNormShape& shape, const float* x,
                                              float* workspace, float* y) {
  for (size_t pixel = 0; pixel < shape.pixels; pixel += tile_pixels) {
    const Tile tile(shape, pixel, workspace);
    gather<Lanes>(shape, tile, x, tile.x);
    set_powers<Lanes>(shape, tile);
#pragma omp simd
    for (size_t i = 0; i < tile.size(); ++i) tile.x[i] *= tile.powers[i];
    scatter<Lanes>(shape, tile, tile.x, y);
  }
}

// With d as above: dx = dy · d^-beta - 2 · alpha · beta · x · Σ dy · x · d^(-beta - 1).
template <class Lanes>
RECORDPIPE_INLINE void local_response_norm_gradient_of(const LocalResponseNormShape& shape,
                                                       const float* x, const float* dy,
                                                       float* workspace, float* dx) {
  const float factor = 2 * shape.alpha * shape.beta;
  for (size_t pixel = 0; pixel < shape.pixels; pixel += tile_pixels) {
    const Tile tile(shape, pixel, workspace);
    gather<Lanes>(shape, tile, x, tile.x);
    gather<Lanes>(shape, tile, dy, tile.dy);
    set_powers<Lanes>(shape, tile);
    sum_neighbours<Lanes>(
        shape, tile, [&](size_t i) __attribute__((always_inline)) {
          return tile.dy[i] * tile.x[i] * tile.powers[i] * tile.inverses[i];
        });
#pragma omp simd
    for (size_t i = 0; i < tile.size(); ++i)
      tile.dy[i] = tile.dy[i] * tile.powers[i] - factor * tile.x[i] * tile.sums[i];
    scatter<Lanes>(shape, tile, tile.dy, dx);
  }
}

}  // namespace

size_t local_response_norm_workspace(const LocalResponseNormShape& shape) {
  return tile_pixels * (6 * shape.channels + 2 * shape.radius);
}

RECORDPIPE_CLONES void local_response_norm(const LocalResponseNormShape& shape, const float* x,
                                           float* workspace, float* y) {
  const size_t lanes = shape.lanes;
  RECORDPIPE_FOR_LANES(local_response_norm, shape, x, workspace, y)
}

RECORDPIPE_CLONES void local_response_norm_gradient(const LocalResponseNormShape& shape,
                                                    const float* x, const float* dy,
                                                    float* workspace, float* dx) {
  const size_t lanes = shape.lanes;
  RECORDPIPE_FOR_LANES(local_response_norm_gradient, shape, x, dy, workspace, dx)
}

}  // namespace recordpipe::kernels
