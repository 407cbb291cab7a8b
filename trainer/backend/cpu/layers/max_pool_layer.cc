#include "trainer/backend/cpu/layers/max_pool_layer.h"

namespace recordpipe {

CpuMaxPool::CpuMaxPool(const MaxPoolOp& op, CpuTensor& input, CpuTensor& output)
    : shape_{.window = op.window,
             .stride = op.stride,
             .padding_top = op.padding_top,
             .padding_left = op.padding_left,
             .in_height = input.shape().height,
             .in_width = input.shape().width,
             .out_height = output.shape().height,
             .out_width = output.shape().width},
      input_(input),
      output_(output) {}

void CpuMaxPool::forward() {
#pragma omp parallel for schedule(static)
  for (size_t plane = 0; plane < output_.planes(); ++plane)
    kernels::max_pool(output_.lanes(), shape_, input_.output() + plane * input_.plane_size(),
                      output_.output() + plane * output_.plane_size());
}

void CpuMaxPool::prepare_backward(GradientPool& pool) {
  gradient_ = plan_gradient(input_, output_, pool);
}

void CpuMaxPool::backward() {
  if (!gradient_) return;
  const float* dy = output_.sum_gradient();
#pragma omp parallel for schedule(static)
  for (size_t plane = 0; plane < output_.planes(); ++plane)
    kernels::max_pool_gradient(
        output_.lanes(), shape_, input_.output() + plane * input_.plane_size(),
        output_.output() + plane * output_.plane_size(), dy + plane * output_.plane_size(),
        gradient_ + plane * input_.plane_size());
}

}  // namespace recordpipe
