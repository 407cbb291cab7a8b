#include "trainer/backend/cpu/kernels/kernels.h"

#include "trainer/backend/cpu/kernels/kernel_vectors.h"

namespace recordpipe::kernels {
namespace {

// Several accumulators per sum: a single one would have to wait for the latency of each addition.
constexpr size_t chains = 4;

template <class Lanes>
RECORDPIPE_INLINE void store_sum(const typename Lanes::Vector (&parts)[chains], float* out) {
  *pixels_of<Lanes>(out) = (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

template <class V, class Body>
RECORDPIPE_INLINE void for_each_pixel(size_t pixels, Body body) {
  size_t p = 0;
  for (; p + chains <= pixels; p += chains)
    for (size_t chain = 0; chain < chains; ++chain) body(p + chain, chain);
  for (; p < pixels; ++p) body(p, 0);
}

template <class Lanes>
RECORDPIPE_INLINE void moments_of(size_t pixels, const float* x_data, float* mean, float* squares) {
  using V = typename Lanes::Vector;
  const V* x = pixels_of<Lanes>(x_data);
  // Relative to the first pixel, which is likely near the mean: the sums stay small.
  const V origin = x[0];
  V sums[chains] = {}, square_sums[chains] = {};
  for_each_pixel<V>(
      pixels, [&](size_t p, size_t chain) __attribute__((always_inline)) {
        const V d = x[p] - origin;
        sums[chain] += d;
        square_sums[chain] += d * d;
      });
  V sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  V square_sum = (square_sums[0] + square_sums[1]) + (square_sums[2] + square_sums[3]);
  const V mean_d = sum / static_cast<float>(pixels);
  *pixels_of<Lanes>(mean) = origin + mean_d;
  *pixels_of<Lanes>(squares) = square_sum - sum * mean_d;
}

// NaN stays NaN, so that a diverged network can't be mistaken for one with zero activations.
template <class Lanes>
RECORDPIPE_INLINE typename Lanes::Vector relu(const typename Lanes::Vector& x) {
  return x < 0 ? typename Lanes::Vector{} : x;
}

template <class Lanes>
RECORDPIPE_INLINE void normalize_of(size_t pixels, const float* x_data, const float* residual_data,
                                    const float* scale_data, const float* shift_data,
                                    bool with_relu, float* y_data) {
  using V = typename Lanes::Vector;
  const V* x = pixels_of<Lanes>(x_data);
  const V* residual = pixels_of<Lanes>(residual_data);
  const V scale = *pixels_of<Lanes>(scale_data), shift = *pixels_of<Lanes>(shift_data);
  V* y = pixels_of<Lanes>(y_data);
  if (residual && with_relu)
    for (size_t p = 0; p < pixels; ++p) y[p] = relu<Lanes>(x[p] * scale + shift + residual[p]);
  else if (residual)
    for (size_t p = 0; p < pixels; ++p) y[p] = x[p] * scale + shift + residual[p];
  else if (with_relu)
    for (size_t p = 0; p < pixels; ++p) y[p] = relu<Lanes>(x[p] * scale + shift);
  else
    for (size_t p = 0; p < pixels; ++p) y[p] = x[p] * scale + shift;
}

template <class Lanes>
RECORDPIPE_INLINE void gradient_sums_of(size_t pixels, const float* x_data, const float* mean_data,
                                        const float* dy_data, const ReluMask& mask, float* sum_g,
                                        float* sum_gx) {
  using V = typename Lanes::Vector;
  const V* x = pixels_of<Lanes>(x_data);
  const V* dy = pixels_of<Lanes>(dy_data);
  const V mean = *pixels_of<Lanes>(mean_data);
  V g_sums[chains] = {}, gx_sums[chains] = {};
  const auto add = [&](size_t chain, V g, V value) __attribute__((always_inline)) {
    g_sums[chain] += g;
    gx_sums[chain] += g * (value - mean);
  };
  if (mask.scale) {
    const V scale = *pixels_of<Lanes>(mask.scale), shift = *pixels_of<Lanes>(mask.shift);
    for_each_pixel<V>(
        pixels, [&](size_t p, size_t chain) __attribute__((always_inline)) {
          add(chain, x[p] * scale + shift > 0 ? dy[p] : V{}, x[p]);
        });
  } else {
    for_each_pixel<V>(
        pixels, [&](size_t p, size_t chain)
                    __attribute__((always_inline)) { add(chain, dy[p], x[p]); });
  }
  store_sum<Lanes>(g_sums, sum_g);
  store_sum<Lanes>(gx_sums, sum_gx);
}

template <class Lanes>
RECORDPIPE_INLINE void masked_gradient_sums_of(size_t pixels, const float* x_data,
                                               const float* mean_data, const float* dy_data,
                                               const float* dy_b_data, const float* y_data,
                                               bool with_relu, float* g_data, float* sum_g,
                                               float* sum_gx) {
  using V = typename Lanes::Vector;
  const V* x = pixels_of<Lanes>(x_data);
  const V* dy = pixels_of<Lanes>(dy_data);
  const V* dy_b = pixels_of<Lanes>(dy_b_data);
  const V* y = pixels_of<Lanes>(y_data);
  const V mean = *pixels_of<Lanes>(mean_data);
  V* g = pixels_of<Lanes>(g_data);
  V g_sums[chains] = {}, gx_sums[chains] = {};
  for_each_pixel<V>(
      pixels, [&](size_t p, size_t chain) __attribute__((always_inline)) {
        V value = dy[p];
        if (dy_b) value += dy_b[p];
        if (with_relu) value = y[p] > 0 ? value : V{};
        g[p] = value;
        g_sums[chain] += value;
        gx_sums[chain] += value * (x[p] - mean);
      });
  store_sum<Lanes>(g_sums, sum_g);
  store_sum<Lanes>(gx_sums, sum_gx);
}

template <class Lanes>
RECORDPIPE_INLINE void batch_norm_gradient_of(size_t pixels, const float* x_data,
                                              const float* dy_data, const ReluMask& mask,
                                              const float* a_data, const float* b_data,
                                              const float* c_data, float* dx_data) {
  using V = typename Lanes::Vector;
  const V* x = pixels_of<Lanes>(x_data);
  const V* dy = pixels_of<Lanes>(dy_data);
  const V a = *pixels_of<Lanes>(a_data), b = *pixels_of<Lanes>(b_data),
          c = *pixels_of<Lanes>(c_data);
  V* dx = pixels_of<Lanes>(dx_data);
  if (mask.scale) {
    const V scale = *pixels_of<Lanes>(mask.scale), shift = *pixels_of<Lanes>(mask.shift);
    for (size_t p = 0; p < pixels; ++p) {
      const V g = x[p] * scale + shift > 0 ? dy[p] : V{};
      dx[p] = a * g + (b * x[p] + c);
    }
  } else {
    for (size_t p = 0; p < pixels; ++p) dx[p] = a * dy[p] + (b * x[p] + c);
  }
}

// One vector of the run's channels.
template <class Lanes>
RECORDPIPE_INLINE void average_pool_of(const PoolShape& shape, const float* large, float* small) {
  using V = typename Lanes::Vector;
  const auto [channels, stride, height, width, large_lanes, small_lanes] = shape;
  const float share = 1.0f / static_cast<float>(stride * stride);
  for (size_t i = 0; i < height; ++i)
    for (size_t j = 0; j < width; ++j) {
      V sum = {};
      for (size_t r = 0; r < stride; ++r)
        for (size_t s = 0; s < stride; ++s)
          sum += *pixels_of<Lanes>(large + ((i * stride + r) * width * stride + j * stride + s) *
                                               large_lanes);
      *pixels_of<Lanes>(small + (i * width + j) * small_lanes) = sum * share;
    }
}

template <class Lanes>
RECORDPIPE_INLINE void average_pool_gradient_of(const PoolShape& shape, const float* small,
                                                float* large) {
  const auto [channels, stride, height, width, large_lanes, small_lanes] = shape;
  const float share = 1.0f / static_cast<float>(stride * stride);
  for (size_t i = 0; i < height * stride; ++i)
    for (size_t j = 0; j < width * stride; ++j)
      *pixels_of<Lanes>(large + (i * width * stride + j) * large_lanes) =
          *pixels_of<Lanes>(small + (i / stride * width + j / stride) * small_lanes) * share;
}

}  // namespace

RECORDPIPE_CLONES void moments(size_t lanes, size_t pixels, const float* x, float* mean,
                               float* squares){
    RECORDPIPE_FOR_LANES(moments, pixels, x, mean, squares)}

RECORDPIPE_CLONES void normalize(size_t lanes, size_t pixels, const float* x, const float* residual,
                                 const float* scale, const float* shift, bool relu, float* y){
    RECORDPIPE_FOR_LANES(normalize, pixels, x, residual, scale, shift, relu, y)}

RECORDPIPE_CLONES
    void gradient_sums(size_t lanes, size_t pixels, const float* x, const float* mean,
                       const float* dy, const ReluMask& mask, float* sum_g, float* sum_gx){
        RECORDPIPE_FOR_LANES(gradient_sums, pixels, x, mean, dy, mask, sum_g, sum_gx)}

RECORDPIPE_CLONES
    void masked_gradient_sums(size_t lanes, size_t pixels, const float* x, const float* mean,
                              const float* dy, const float* dy_b, const float* y, bool relu,
                              float* g, float* sum_g, float* sum_gx){
        RECORDPIPE_FOR_LANES(masked_gradient_sums, pixels, x, mean, dy, dy_b, y, relu, g, sum_g,
                             sum_gx)}

RECORDPIPE_CLONES void batch_norm_gradient(size_t lanes, size_t pixels, const float* x,
                                           const float* dy, const ReluMask& mask, const float* a,
                                           const float* b, const float* c, float* dx){
    RECORDPIPE_FOR_LANES(batch_norm_gradient, pixels, x, dy, mask, a, b, c, dx)}

RECORDPIPE_CLONES void average_pool(const PoolShape& shape, const float* large, float* small) {
  size_t c = 0;
  for (; c + 16 <= shape.channels; c += 16) average_pool_of<Lanes16>(shape, large + c, small + c);
  for (; c + 8 <= shape.channels; c += 8) average_pool_of<Lanes8>(shape, large + c, small + c);
  for (; c < shape.channels; ++c) average_pool_of<Lane>(shape, large + c, small + c);
}

RECORDPIPE_CLONES void average_pool_gradient(const PoolShape& shape, const float* small,
                                             float* large) {
  size_t c = 0;
  for (; c + 16 <= shape.channels; c += 16)
    average_pool_gradient_of<Lanes16>(shape, small + c, large + c);
  for (; c + 8 <= shape.channels; c += 8)
    average_pool_gradient_of<Lanes8>(shape, small + c, large + c);
  for (; c < shape.channels; ++c) average_pool_gradient_of<Lane>(shape, small + c, large + c);
}

}  // namespace recordpipe::kernels
