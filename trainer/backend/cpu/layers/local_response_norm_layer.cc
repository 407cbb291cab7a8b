#include "trainer/backend/cpu/layers/local_response_norm_layer.h"

#include <algorithm>

#include <omp.h>

namespace recordpipe {

CpuLocalResponseNorm::CpuLocalResponseNorm(const LocalResponseNormOp& op, CpuTensor& input,
                                           CpuTensor& output)
    : shape_{.lanes = input.lanes(),
             .channels = input.channel_blocks() * input.lanes(),
             .pixels = input.shape().pixels(),
             .radius = std::min(op.radius, input.shape().channels),  // a larger radius has no
                                                                     // effect
             .bias = static_cast<float>(op.bias),
             .alpha = static_cast<float>(op.alpha),
             .beta = static_cast<float>(op.beta)},
      workspace_size_(kernels::local_response_norm_workspace(shape_)),
      input_(input),
      output_(output),
      slices_(std::min(input.images(), static_cast<size_t>(omp_get_max_threads()))),
      workspaces_(slices_ * workspace_size_) {}

template <class Body>
void CpuLocalResponseNorm::for_each_image(Body body) {
#pragma omp parallel for schedule(static)
  for (size_t slice = 0; slice < slices_; ++slice)
    for (size_t image = slice * input_.images() / slices_;
         image < (slice + 1) * input_.images() / slices_; ++image)
      body(image, workspaces_.data() + slice * workspace_size_);
}

void CpuLocalResponseNorm::forward() {
  for_each_image([&](size_t image, float* workspace) {
    kernels::local_response_norm(shape_, input_.output() + image * image_size(), workspace,
                                 output_.output() + image * image_size());
  });
}

void CpuLocalResponseNorm::prepare_backward(GradientPool& pool) {
  gradient_ = plan_gradient(input_, output_, pool);
}

void CpuLocalResponseNorm::backward() {
  if (!gradient_) return;
  const float* dy = output_.sum_gradient();
  for_each_image([&](size_t image, float* workspace) {
    kernels::local_response_norm_gradient(shape_, input_.output() + image * image_size(),
                                          dy + image * image_size(), workspace,
                                          gradient_ + image * image_size());
  });
}

}  // namespace recordpipe
