#include "trainer/backend/cpu/layers/pool_and_pad_layer.h"

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

kernels::PoolShape CpuPoolAndPad::shape_of(const Run& run) const {
  return {.channels = run.count,
          .stride = stride_,
          .height = output_.shape().height,
          .width = output_.shape().width,
          .large_lanes = input_.lanes(),
          .small_lanes = output_.lanes()};
}

size_t CpuPoolAndPad::input_offset(size_t image, const Run& run) const {
  return (image * input_.channel_blocks() + run.input_block) * input_.plane_size() + run.input_lane;
}

size_t CpuPoolAndPad::output_offset(size_t image, const Run& run) const {
  return (image * output_.channel_blocks() + run.output_block) * output_.plane_size() +
         run.output_lane;
}

// Output channels outside all runs are initially zero and never written.
void CpuPoolAndPad::forward() {
#pragma omp parallel for schedule(static)
  for (size_t image = 0; image < output_.images(); ++image)
    for (const Run& run : runs_)
      kernels::average_pool(shape_of(run), input_.output() + input_offset(image, run),
                            output_.output() + output_offset(image, run));
}

void CpuPoolAndPad::prepare_backward(GradientPool& pool) {
  gradient_ = plan_gradient(input_, output_, pool);
}

void CpuPoolAndPad::backward() {
  if (!gradient_) return;
  const float* dy = output_.sum_gradient();
#pragma omp parallel for schedule(static)
  for (size_t image = 0; image < output_.images(); ++image)
    for (const Run& run : runs_)
      kernels::average_pool_gradient(shape_of(run), dy + output_offset(image, run),
                                     gradient_ + input_offset(image, run));
}

}  // namespace recordpipe
