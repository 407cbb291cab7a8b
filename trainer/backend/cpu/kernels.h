// The inner loops of the layers that aren't oneDNN's, for one plane [pixels][lanes] (see
// tensor.h). They are compiled for several instruction sets; the processor's is picked when the
// program starts. `lanes` is 16, 8 or 1; arrays of coefficients hold one number a lane.
#pragma once

#include <cstddef>

namespace recordpipe::kernels {

// The mean and Σ (x - mean)² of each lane.
void moments(size_t lanes, size_t pixels, const float* x, float* mean, float* squares);

// y = x · scale + shift (+ residual, which may be null), negative values cut off if `relu`.
void normalize(size_t lanes, size_t pixels, const float* x, const float* residual,
               const float* scale, const float* shift, bool relu, float* y);

// Where the ReLU after x · scale + shift lets a gradient through; everywhere if scale is null.
struct ReluMask {
  const float* scale = nullptr;
  const float* shift = nullptr;
};

// What batch norm's gradient is made from: Σ g and Σ g · (x - mean), g being the masked dy.
void gradient_sums(size_t lanes, size_t pixels, const float* x, const float* mean, const float* dy,
                   const ReluMask& mask, float* sum_g, float* sum_gx);

// The same for g = dy + dy_b (which may be null) where y > 0 if `relu`; g is written, for others to
// read.
void masked_gradient_sums(size_t lanes, size_t pixels, const float* x, const float* mean,
                          const float* dy, const float* dy_b, const float* y, bool relu, float* g,
                          float* sum_g, float* sum_gx);

// dx = a · g + b · x + c, g being the masked dy.
void batch_norm_gradient(size_t lanes, size_t pixels, const float* x, const float* dy,
                         const ReluMask& mask, const float* a, const float* b, const float* c,
                         float* dx);

// Where the averages of stride × stride windows go: one run of channels that lie side by side.
// Rows are `width` (of the smaller image) pixels long and pixels so many lanes apart.
struct PoolShape {
  size_t channels;  // in the run
  size_t stride;
  size_t height, width;  // of the smaller image
  size_t large_lanes, small_lanes;
};
void average_pool(const PoolShape& shape, const float* large, float* small);
void average_pool_gradient(const PoolShape& shape, const float* small, float* large);

}  // namespace recordpipe::kernels
