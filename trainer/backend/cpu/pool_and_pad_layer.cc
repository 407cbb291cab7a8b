#include "trainer/backend/cpu/pool_and_pad_layer.h"

#include <algorithm>

namespace recordpipe {

CpuPoolAndPad::CpuPoolAndPad(const PoolAndPadOp& op, CpuTensor& input, CpuTensor& output)
    : stride_(op.stride), input_(input), output_(output) {
  const size_t before = (output.shape().channels - input.shape().channels) / 2;
  for (size_t channel = 0; channel < input.shape().channels;) {
    const size_t lane = channel % input.lanes();
    const size_t out_lane = (before + channel) % output.lanes();
    const size_t count = std::min(
        {input.lanes() - lane, output.lanes() - out_lane, input.shape().channels - channel});
    runs_.push_back({.input_block = channel / input.lanes(),
                     .input_lane = lane,
                     .output_block = (before + channel) / output.lanes(),
                     .output_lane = out_lane,
                     .count = count});
    channel += count;
  }
}

void CpuPoolAndPad::forward() {
  const auto [channels, height, width] = output_.shape();
  const size_t in_lanes = input_.lanes(), out_lanes = output_.lanes();
  const size_t in_width = input_.shape().width;
  const float share = 1.0f / static_cast<float>(stride_ * stride_);
  // Channels that no run covers were zero from the start and stay so.
#pragma omp parallel for schedule(static)
  for (size_t image = 0; image < output_.images(); ++image)
    for (const Run& run : runs_) {
      const float* x = input_.output() +
                       (image * input_.channel_blocks() + run.input_block) * input_.plane_size() +
                       run.input_lane;
      float* y = output_.output() +
                 (image * output_.channel_blocks() + run.output_block) * output_.plane_size() +
                 run.output_lane;
      for (size_t i = 0; i < height; ++i)
        for (size_t j = 0; j < width; ++j) {
          float* to = y + (i * width + j) * out_lanes;
          std::fill_n(to, run.count, 0.0f);
          for (size_t r = 0; r < stride_; ++r)
            for (size_t s = 0; s < stride_; ++s) {
              const float* from = x + ((i * stride_ + r) * in_width + j * stride_ + s) * in_lanes;
              for (size_t c = 0; c < run.count; ++c) to[c] += share * from[c];
            }
        }
    }
}

void CpuPoolAndPad::prepare_backward(GradientPool& pool) {
  if (input_.needs_gradient) {
    gradient_ = pool.take(input_.size());
    input_.gradient_parts.push_back(gradient_);
  }
  for (float* part : output_.gradient_parts) pool.give_back(part);
}

void CpuPoolAndPad::backward() {
  if (!gradient_) return;
  const float* dy_all = output_.sum_gradient();
  const auto [channels, height, width] = input_.shape();
  const size_t in_lanes = input_.lanes(), out_lanes = output_.lanes();
  const size_t out_width = output_.shape().width;
  const float share = 1.0f / static_cast<float>(stride_ * stride_);
#pragma omp parallel for schedule(static)
  for (size_t image = 0; image < output_.images(); ++image)
    for (const Run& run : runs_) {
      float* dx = gradient_ +
                  (image * input_.channel_blocks() + run.input_block) * input_.plane_size() +
                  run.input_lane;
      const float* dy =
          dy_all + (image * output_.channel_blocks() + run.output_block) * output_.plane_size() +
          run.output_lane;
      for (size_t i = 0; i < height; ++i)
        for (size_t j = 0; j < width; ++j) {
          const float* from = dy + (i / stride_ * out_width + j / stride_) * out_lanes;
          float* to = dx + (i * width + j) * in_lanes;
          for (size_t c = 0; c < run.count; ++c) to[c] = share * from[c];
        }
    }
}

}  // namespace recordpipe
