// The last part of convolutions and dense layers: bias and ReLU.
#pragma once

#include <optional>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/layers/layer.h"

namespace recordpipe::cuda {

class BiasReluPart {
 public:
  BiasReluPart(const LayerContext& context, std::optional<VariableId> bias, bool relu,
               Tensor& output);

  // Modifies the output in place.
  void forward() const;
  void prepare_backward();
  // Masks the output's gradient in place and writes the gradient of the bias.
  void backward() const;

 private:
  const LayerContext& context_;
  const std::optional<VariableId> bias_;
  Tensor& output_;
  BiasRelu work_;
  Buffer partial_sums_;
  Buffer arrived_;
};

}  // namespace recordpipe::cuda
