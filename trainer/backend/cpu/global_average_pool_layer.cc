#include "trainer/backend/cpu/global_average_pool_layer.h"

namespace recordpipe {

void CpuGlobalAveragePool::forward() {
  const auto [channels, height, width] = input_.shape();
  const size_t lanes = input_.lanes(), pixels = height * width;
  const float share = 1.0f / static_cast<float>(pixels);
#pragma omp parallel for schedule(static)
  for (size_t image = 0; image < input_.images(); ++image) {
    const float* x = input_.output() + image * input_.channel_blocks() * input_.plane_size();
    float* y = output_.output() + image * channels;
    for (size_t c = 0; c < channels; ++c) {
      const float* plane = x + c / lanes * input_.plane_size() + c % lanes;
      float sum = 0;
      for (size_t p = 0; p < pixels; ++p) sum += plane[p * lanes];
      y[c] = sum * share;
    }
  }
}

void CpuGlobalAveragePool::prepare_backward(GradientPool& pool) {
  if (input_.needs_gradient) {
    gradient_ = pool.take(input_.size());
    input_.gradient_parts.push_back(gradient_);
  }
  for (float* part : output_.gradient_parts) pool.give_back(part);
}

void CpuGlobalAveragePool::backward() {
  if (!gradient_) return;
  const float* dy_all = output_.sum_gradient();
  const auto [channels, height, width] = input_.shape();
  const size_t lanes = input_.lanes(), pixels = height * width;
  const float share = 1.0f / static_cast<float>(pixels);
#pragma omp parallel for schedule(static)
  for (size_t image = 0; image < input_.images(); ++image) {
    const float* dy = dy_all + image * channels;
    float* dx = gradient_ + image * input_.channel_blocks() * input_.plane_size();
    for (size_t block = 0; block < input_.channel_blocks(); ++block)
      for (size_t p = 0; p < pixels; ++p)
        for (size_t lane = 0; lane < lanes; ++lane) {
          const size_t c = block * lanes + lane;
          *dx++ = c < channels ? share * dy[c] : 0.0f;
        }
  }
}

}  // namespace recordpipe
