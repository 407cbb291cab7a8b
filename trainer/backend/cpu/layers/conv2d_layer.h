// Convolution and bias by oneDNN.
#pragma once

#include <optional>
#include <unordered_map>

#include "trainer/backend/cpu/layers/layer.h"
#include "trainer/backend/cpu/reordered_variable.h"

namespace recordpipe {

class CpuConv2d final : public CpuLayer {
 public:
  CpuConv2d(CpuContext& context, const Conv2dOp& op, CpuTensor& input, CpuTensor& output);

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override;

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  void prepare_backward_weights();
  void prepare_backward_data(GradientPool& pool);

  CpuContext& context_;
  const Conv2dOp op_;
  CpuTensor& input_;
  CpuTensor& output_;
  const onednn::Convolution convolution_;
  const onednn::Desc row_major_;  // of the weights
  const onednn::ConvolutionForward forward_desc_;

  ReorderedVariable weights_;
  dnnl::convolution_forward forward_;
  Arguments forward_arguments_;

  std::optional<ReorderedGradient> weights_gradient_;
  dnnl::convolution_backward_weights backward_weights_;
  Arguments backward_weights_arguments_;

  std::optional<ReorderedVariable> backward_data_weights_;
  dnnl::convolution_backward_data backward_data_;
  Arguments backward_data_arguments_;
};

}  // namespace recordpipe
