// One node of a network on a GPU: enqueues its forward and backward pass on the device's stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"
#include "trainer/backend/cuda/cuda_variables.h"
#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/element.h"

namespace recordpipe::cuda {

// A node's output and its gradient, [images][pixels][channels padded to whole packs].
class Tensor {
 public:
  // Throws Error{limit_exceeded} for more than 2^31 - 1 values, cuDNN's limit.
  Tensor(size_t images, const FeatureShape& shape, Element element);

  Element element() const { return element_; }
  const FeatureShape& shape() const { return shape_; }
  uint32_t images() const { return images_; }
  uint32_t rows() const { return images_ * static_cast<uint32_t>(shape_.pixels()); }
  uint32_t channels() const { return channels_; }
  size_t bytes() const { return size_t{rows()} * channels_ * size_of(element_); }

  void* data() const { return data_.data(); }

  // See Network::needed_gradients().
  void set_needs_gradient(bool needed) { needs_gradient_ = needed; }
  bool needs_gradient() const { return needs_gradient_; }
  void* gradient() const { return gradient_.data(); }
  // Called by each layer that will write the gradient, in the order of the backward pass. Returns
  // whether the layer must add to the gradient, because another layer has written it before.
  // Allocates the gradient at the first call.
  bool claim_gradient();

 private:
  const Element element_;
  const uint32_t images_;
  const FeatureShape shape_;
  const uint32_t channels_;
  bool needs_gradient_ = true;
  Buffer data_, gradient_;
};

// Shared by all layers of a runner.
struct LayerContext {
  const Device& device;
  const CudaVariables& variables;
  float* new_statistics;  // the batch's, with the same offsets as the variables' statistics
  Mode mode;
  bool tf32;
  bool measure_algorithms;
};

class Layer {
 public:
  virtual ~Layer() = default;

  virtual void forward() = 0;
  // Prepares backward(). Called once, in training, in the order of the backward pass.
  virtual void prepare_backward() = 0;
  // Reads the gradient of this node's output, writes the gradients of its inputs and variables.
  virtual void backward() = 0;
};

std::unique_ptr<Layer> make_layer(const LayerContext& context, const Conv2dOp& op, Tensor& input,
                                  Tensor& output);
// `residual` may be null.
std::unique_ptr<Layer> make_layer(const LayerContext& context, const BatchNormOp& op, Tensor& input,
                                  Tensor* residual, Tensor& output);
std::unique_ptr<Layer> make_layer(const LayerContext& context, const PoolAndPadOp& op,
                                  Tensor& input, Tensor& output);
std::unique_ptr<Layer> make_layer(const LayerContext& context, const GlobalAveragePoolOp& op,
                                  Tensor& input, Tensor& output);
// Throws Error{unsupported} for a window larger than 256.
std::unique_ptr<Layer> make_layer(const LayerContext& context, const MaxPoolOp& op, Tensor& input,
                                  Tensor& output);
std::unique_ptr<Layer> make_layer(const LayerContext& context, const ActivationOp& op,
                                  Tensor& input, Tensor& output);
std::unique_ptr<Layer> make_layer(const LayerContext& context, const LocalResponseNormOp& op,
                                  Tensor& input, Tensor& output);
std::unique_ptr<Layer> make_layer(const LayerContext& context, const DenseOp& op, Tensor& input,
                                  Tensor& output);

}  // namespace recordpipe::cuda
