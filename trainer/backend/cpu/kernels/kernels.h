// The inner loops of the layers that don't use oneDNN, for one plane [pixels][lanes] (see
// tensor.h). They are compiled for several instruction sets; the best one for the processor is
// selected at program start. `lanes` is 16, 8 or 1; coefficient arrays have one value per lane.
#pragma once

#include <cstddef>

namespace recordpipe::kernels {

// Computes the mean and Σ (x - mean)² of each lane.
void moments(size_t lanes, size_t pixels, const float* x, float* mean, float* squares);

// y = x · scale + shift (+ residual, may be null), then ReLU if `relu`.
void normalize(size_t lanes, size_t pixels, const float* x, const float* residual,
               const float* scale, const float* shift, bool relu, float* y);

// The mask of the ReLU after x · scale + shift: where its gradient passes. Everywhere if scale is
// null.
struct ReluMask {
  const float* scale = nullptr;
  const float* shift = nullptr;
};

// The sums for batch norm's gradient: Σ g and Σ g · (x - mean), where g is the masked dy.
void gradient_sums(size_t lanes, size_t pixels, const float* x, const float* mean, const float* dy,
                   const ReluMask& mask, float* sum_g, float* sum_gx);

// The same for g = dy + dy_b (may be null), masked with y > 0 if `relu`; stores g.
void masked_gradient_sums(size_t lanes, size_t pixels, const float* x, const float* mean,
                          const float* dy, const float* dy_b, const float* y, bool relu, float* g,
                          float* sum_g, float* sum_gx);

// dx = a · g + b · x + c, where g is the masked dy.
void batch_norm_gradient(size_t lanes, size_t pixels, const float* x, const float* dy,
                         const ReluMask& mask, const float* a, const float* b, const float* c,
                         float* dx);

// The output of an average pooling over stride × stride windows, for one run of adjacent channels.
// Rows have `width` pixels (of the smaller image); pixels are this many lanes apart.
struct PoolShape {
  size_t channels;  // in the run
  size_t stride;
  size_t height, width;  // of the smaller image
  size_t large_lanes, small_lanes;
};
void average_pool(const PoolShape& shape, const float* large, float* small);
void average_pool_gradient(const PoolShape& shape, const float* small, float* large);

}  // namespace recordpipe::kernels
