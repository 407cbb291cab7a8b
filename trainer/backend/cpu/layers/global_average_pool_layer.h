// The mean over all pixels.
#pragma once

#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

class CpuGlobalAveragePool final : public CpuLayer {
 public:
  CpuGlobalAveragePool(CpuTensor& input, CpuTensor& output) : input_(input), output_(output) {}

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override;

 private:
  size_t channels_in(size_t block) const;

  CpuTensor& input_;
  CpuTensor& output_;
  float* gradient_ = nullptr;  // this layer's part of the input's gradient
};

}  // namespace recordpipe
