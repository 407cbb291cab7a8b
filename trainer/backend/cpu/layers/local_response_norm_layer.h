// Local response normalisation (see LocalResponseNormOp) by own loops: oneDNN is fast only for a
// radius of 2.
#pragma once

#include "trainer/backend/cpu/kernels/local_response_norm_kernels.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

class CpuLocalResponseNorm final : public CpuLayer {
 public:
  CpuLocalResponseNorm(const LocalResponseNormOp& op, CpuTensor& input, CpuTensor& output);

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override;

 private:
  size_t image_size() const { return input_.channel_blocks() * input_.plane_size(); }
  // Calls body(image, workspace) for all images, those of a slice in order.
  template <class Body>
  void for_each_image(Body body);

  const kernels::LocalResponseNormShape shape_;
  const size_t workspace_size_;
  CpuTensor& input_;
  CpuTensor& output_;
  float* gradient_ = nullptr;  // this layer's part of the input's gradient
  const size_t slices_;        // of the batch, each with its own workspace
  internal::AlignedVector<float> workspaces_;
};

}  // namespace recordpipe
