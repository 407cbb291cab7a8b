#include "trainer/backend/cpu/layers/global_average_pool_layer.h"

#include <algorithm>

#include "trainer/backend/cpu/kernels/kernels.h"

namespace recordpipe {

// Without the padding channels of the last block: the output is plain.
size_t CpuGlobalAveragePool::channels_in(size_t block) const {
  return std::min(input_.lanes(), input_.shape().channels - block * input_.lanes());
}

void CpuGlobalAveragePool::forward() {
  const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
#pragma omp parallel for schedule(static)
  for (size_t plane = 0; plane < input_.planes(); ++plane) {
    float mean[16], squares[16];
    kernels::moments(lanes, input_.shape().pixels(), input_.output() + plane * input_.plane_size(),
                     mean, squares);
    const size_t image = plane / blocks, block = plane % blocks;
    std::copy_n(mean, channels_in(block),
                output_.output() + image * input_.shape().channels + block * lanes);
  }
}

void CpuGlobalAveragePool::prepare_backward(GradientPool& pool) {
  gradient_ = plan_gradient(input_, output_, pool);
}

void CpuGlobalAveragePool::backward() {
  if (!gradient_) return;
  const float* dy = output_.sum_gradient();
  const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
  const size_t pixels = input_.shape().pixels();
#pragma omp parallel for schedule(static)
  for (size_t plane = 0; plane < input_.planes(); ++plane) {
    const size_t image = plane / blocks, block = plane % blocks;
    float pixel[16] = {};
    for (size_t lane = 0; lane < channels_in(block); ++lane)
      pixel[lane] =
          dy[image * input_.shape().channels + block * lanes + lane] / static_cast<float>(pixels);
    float* dx = gradient_ + plane * input_.plane_size();
    for (size_t p = 0; p < pixels; ++p) std::copy_n(pixel, lanes, dx + p * lanes);
  }
}

}  // namespace recordpipe
