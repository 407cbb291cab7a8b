// Max pooling (see MaxPoolOp) by own loops: oneDNN's drops NaN.
#pragma once

#include "trainer/backend/cpu/kernels/max_pool_kernels.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

class CpuMaxPool final : public CpuLayer {
 public:
  CpuMaxPool(const MaxPoolOp& op, CpuTensor& input, CpuTensor& output);

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override;

 private:
  const kernels::MaxPoolShape shape_;
  CpuTensor& input_;
  CpuTensor& output_;
  float* gradient_ = nullptr;  // this layer's part of the input's gradient
};

}  // namespace recordpipe
