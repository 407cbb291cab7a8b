// The shortcut that average-pools and adds zero channels (see PoolAndPadOp).
#pragma once

#include <vector>

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

class CpuPoolAndPad final : public CpuLayer {
 public:
  CpuPoolAndPad(const PoolAndPadOp& op, CpuTensor& input, CpuTensor& output);

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override;

 private:
  // Channels that are adjacent in both the input and the output.
  struct Run {
    size_t input_block, input_lane;
    size_t output_block, output_lane;
    size_t count;
  };

  kernels::PoolShape shape_of(const Run& run) const;
  // The start of a run.
  size_t input_offset(size_t image, const Run& run) const;
  size_t output_offset(size_t image, const Run& run) const;

  const size_t stride_;
  CpuTensor& input_;
  CpuTensor& output_;
  float* gradient_ = nullptr;  // this layer's part of the input's gradient
  std::vector<Run> runs_;
};

}  // namespace recordpipe
