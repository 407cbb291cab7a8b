// GELU and SiLU by oneDNN.
#pragma once

#include <unordered_map>

#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

class CpuActivation final : public CpuLayer {
 public:
  CpuActivation(CpuContext& context, const ActivationOp& op, CpuTensor& input, CpuTensor& output);

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override;

 private:
  CpuContext& context_;
  CpuTensor& input_;
  CpuTensor& output_;
  const dnnl::algorithm algorithm_;
  const onednn::EltwiseForward forward_desc_;
  dnnl::eltwise_forward forward_;
  dnnl::eltwise_backward backward_;
  // The input's gradient takes over the memory of the output's.
  dnnl::memory x_, y_, gradient_;
};

}  // namespace recordpipe
