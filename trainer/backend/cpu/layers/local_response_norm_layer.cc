// Local response normalisation (see LocalResponseNormOp) by own loops: oneDNN is fast only for a
// radius of 2.
#include <algorithm>

#include <omp.h>

#include "trainer/backend/cpu/kernels/local_response_norm_kernels.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {
namespace {

class CpuLocalResponseNorm final : public CpuOneInputLayer {
 public:
  CpuLocalResponseNorm(const LocalResponseNormOp& op, CpuTensor& input, CpuTensor& output)
      : CpuOneInputLayer(input, output),
        shape_{.lanes = input.lanes(),
               .channels = input.channel_blocks() * input.lanes(),
               .pixels = input.shape().pixels(),
               .radius = std::min(op.radius, input.shape().channels),  // a larger radius has no
                                                                       // effect
               .bias = static_cast<float>(op.bias),
               .alpha = static_cast<float>(op.alpha),
               .beta = static_cast<float>(op.beta)},
        workspace_size_(kernels::local_response_norm_workspace(shape_)),
        slices_(std::min(input.images(), static_cast<size_t>(omp_get_max_threads()))),
        workspaces_(slices_ * workspace_size_) {}

  void forward() override {
    for_each_image([&](size_t image, float* workspace) {
      kernels::local_response_norm(shape_, input_.output() + image * image_size(), workspace,
                                   output_.output() + image * image_size());
    });
  }

 private:
  void backward_data(const float* dy, float* dx) override {
    for_each_image([&](size_t image, float* workspace) {
      kernels::local_response_norm_gradient(shape_, input_.output() + image * image_size(),
                                            dy + image * image_size(), workspace,
                                            dx + image * image_size());
    });
  }

  size_t image_size() const { return input_.channel_blocks() * input_.plane_size(); }

  // Calls body(image, workspace) for all images, those of a slice in order.
  template <class Body>
  void for_each_image(Body body) {
#pragma omp parallel for schedule(static)
    for (size_t slice = 0; slice < slices_; ++slice)
      for (size_t image = slice * input_.images() / slices_;
           image < (slice + 1) * input_.images() / slices_; ++image)
        body(image, workspaces_.data() + slice * workspace_size_);
  }

  const kernels::LocalResponseNormShape shape_;
  const size_t workspace_size_;
  const size_t slices_;  // of the batch, each with its own workspace
  internal::AlignedVector<float> workspaces_;
};

}  // namespace

std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext&, const LocalResponseNormOp& op,
                                         CpuTensor& input, CpuTensor& output) {
  return std::make_unique<CpuLocalResponseNorm>(op, input, output);
}

}  // namespace recordpipe
