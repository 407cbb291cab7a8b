// A dense layer by oneDNN's inner product. The weights use the memory order of their inputs, which
// costs almost nothing. For an image as input, converting to the layouts that oneDNN would choose
// costs more than it saves.
#pragma once

#include <optional>
#include <unordered_map>

#include "trainer/backend/cpu/layers/layer.h"
#include "trainer/backend/cpu/reordered_variable.h"

namespace recordpipe {

class CpuDense final : public CpuLayer {
 public:
  CpuDense(CpuContext& context, const DenseOp& op, CpuTensor& input, CpuTensor& output);

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override;

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  CpuContext& context_;
  const DenseOp op_;
  CpuTensor& input_;
  CpuTensor& output_;
  // The descriptors of the primitives: the output is a matrix, the weights' [in] has the input's
  // shape.
  const onednn::Desc weights_desc_, bias_desc_, output_desc_;
  const onednn::InnerProductForward forward_desc_;

  ReorderedVariable weights_;
  dnnl::inner_product_forward forward_;
  Arguments forward_arguments_;

  std::optional<ReorderedGradient> weights_gradient_;
  dnnl::inner_product_backward_weights backward_weights_;
  Arguments backward_weights_arguments_;

  dnnl::inner_product_backward_data backward_data_;
  Arguments backward_data_arguments_;
};

}  // namespace recordpipe
