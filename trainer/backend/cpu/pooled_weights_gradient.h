// The gradient of a 3x3 convolution's weights if only max pooling over windows of 2x2 reads the
// output: at most one of a window's four pixels has a gradient, so that a quarter of the
// multiplications are enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/backend/cpu/tensor.h"

namespace recordpipe {

// For stride 1, padding 1, and tensors of 16 lanes.
class PooledWeightsGradient {
 public:
  PooledWeightsGradient(const CpuTensor& input, const CpuTensor& output);

  // Stores the gradient as [filters][channels][3][3].
  void compute(const float* output_gradient, std::span<float> weights_gradient);

 private:
  // A window's gradient, and the first of the 3x3 pixels of the padded input that it multiplies.
  struct Window {
    int32_t pixel;
    float gradient;
  };
  // Of one thread. `sums` is [filters][channel blocks][3][3][lanes].
  struct Scratch {
    internal::AlignedVector<float> padded_input, sums;
    std::vector<Window> windows;  // [filters][images][windows]
  };
  static void find_gradients(size_t height, size_t width, const float* output_gradient,
                             size_t first_pixel, size_t filter_step, Window* windows);
  static void add(std::span<const Window> windows, size_t pitch, const float* padded_input,
                  float* sums);
  void add_images(size_t first, const float* output_gradient, Scratch& scratch) const;

  const CpuTensor& input_;
  const CpuTensor& output_;
  const size_t pitch_;           // pixels in a row of the padded input
  const size_t windows_;         // in an image
  const size_t rows_at_once_;    // of windows: their input stays in the L1 cache
  const size_t images_at_once_;  // for small images
  std::vector<Scratch> scratch_;
};

}  // namespace recordpipe
