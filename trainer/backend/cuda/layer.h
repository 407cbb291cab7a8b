// One node of a network on a GPU: what its forward and backward pass put into the device's stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"
#include "trainer/backend/cuda/cuda_variables.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/element.h"

namespace recordpipe::cuda {

// A node's output and its gradient, [images][pixels][channels filled up to whole packs].
class Tensor {
 public:
  // Throws Error{limit_exceeded} for more numbers than cuDNN takes, 2^31 - 1.
  Tensor(size_t images, const FeatureShape& shape, Element element);

  Element element() const { return element_; }
  const FeatureShape& shape() const { return shape_; }
  uint32_t images() const { return images_; }
  uint32_t rows() const { return images_ * static_cast<uint32_t>(shape_.pixels()); }
  uint32_t channels() const { return channels_; }
  size_t bytes() const { return size_t{rows()} * channels_ * size_of(element_); }

  void* data() const { return data_.data(); }

  // The network's input needs none.
  void set_needs_gradient(bool needed) { needs_gradient_ = needed; }
  bool needs_gradient() const { return needs_gradient_; }
  void* gradient() const { return gradient_.data(); }
  // Called in the order of the backward pass by each layer that will write the gradient: whether
  // what is there must be added to, as another layer has written it before. Takes its memory.
  bool claim_gradient();

 private:
  const Element element_;
  const uint32_t images_;
  const FeatureShape shape_;
  const uint32_t channels_;
  bool needs_gradient_ = true;
  Buffer data_, gradient_;
};

// What all layers of a runner share.
struct LayerContext {
  const Device& device;
  const CudaVariables& variables;
  float* new_statistics;  // what moves the variables' statistics, in the same places
  Mode mode;
  bool tf32;
  bool measure_algorithms;
};

class Layer {
 public:
  virtual ~Layer() = default;

  virtual void forward() = 0;
  // Makes backward() ready. Called in training, once, in the order of the backward pass.
  virtual void prepare_backward() = 0;
  // Reads the gradient of this node's output, writes those of its inputs and variables.
  virtual void backward() = 0;
};

std::unique_ptr<Layer> make_conv2d(const LayerContext& context, const Conv2dOp& op, Tensor& input,
                                   Tensor& output);
// `residual` may be null.
std::unique_ptr<Layer> make_batch_norm(const LayerContext& context, const BatchNormOp& op,
                                       Tensor& input, Tensor* residual, Tensor& output);
std::unique_ptr<Layer> make_pool_and_pad(const LayerContext& context, const PoolAndPadOp& op,
                                         Tensor& input, Tensor& output);
std::unique_ptr<Layer> make_global_average_pool(const LayerContext& context, Tensor& input,
                                                Tensor& output);
// Throws Error{unsupported} for a window of more than 256.
std::unique_ptr<Layer> make_max_pool(const LayerContext& context, const MaxPoolOp& op,
                                     Tensor& input, Tensor& output);
std::unique_ptr<Layer> make_local_response_norm(const LayerContext& context,
                                                const LocalResponseNormOp& op, Tensor& input,
                                                Tensor& output);
std::unique_ptr<Layer> make_dense(const LayerContext& context, const DenseOp& op, Tensor& input,
                                  Tensor& output);

}  // namespace recordpipe::cuda
