// One node of a network on the CPU: the forward and backward pass for the node's tensors.
#pragma once

#include <memory>

#include "recordpipe/trainer/backend/backend.h"
#include "trainer/backend/cpu/cpu_variables.h"
#include "trainer/backend/cpu/onednn.h"
#include "trainer/backend/cpu/tensor.h"

namespace recordpipe {

// Shared by all layers of a runner.
struct CpuContext {
  CpuVariables& variables;
  Mode mode;
  Communicator* shared_statistics;  // see RunnerOptions
  dnnl::engine engine;
  dnnl::stream stream;

  dnnl::prop_kind forward_kind() const {
    return mode == Mode::training ? dnnl::prop_kind::forward_training
                                  : dnnl::prop_kind::forward_inference;
  }
};

class CpuLayer {
 public:
  virtual ~CpuLayer() = default;

  virtual void forward() = 0;

  // Prepares backward(). Called once, in training, in the order of the backward pass. Adds a part
  // to the gradient of every input that needs one, and returns to the pool the memory that is
  // unused after this layer's backward().
  virtual void prepare_backward(GradientPool& pool) = 0;
  // Reads the gradient of this node's output, writes the gradients of its inputs and variables.
  virtual void backward() = 0;

  // See Runner::update_statistics.
  virtual void update_statistics() {}
};

// A layer with one input whose backward pass needs no other memory.
class CpuOneInputLayer : public CpuLayer {
 public:
  void prepare_backward(GradientPool& pool) final {
    if (input_.needs_gradient) {
      gradient_ = pool.take(input_.size());
      input_.gradient_parts.push_back(gradient_);
    }
    for (float* part : output_.gradient_parts) pool.give_back(part);
  }
  void backward() final {
    if (gradient_) backward_data(output_.sum_gradient(), gradient_);
  }

 protected:
  CpuOneInputLayer(CpuTensor& input, CpuTensor& output) : input_(input), output_(output) {}

  CpuTensor& input_;
  CpuTensor& output_;

 private:
  // Writes this layer's part of the input's gradient.
  virtual void backward_data(const float* dy, float* dx) = 0;

  float* gradient_ = nullptr;  // null: the input needs none
};

// The layers with an input and an output, each in a source of its own.
std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const Conv2dOp& op, CpuTensor& input,
                                         CpuTensor& output);
// `residual` may be null.
std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const BatchNormOp& op,
                                         CpuTensor& input, CpuTensor* residual, CpuTensor& output);
std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const PoolAndPadOp& op,
                                         CpuTensor& input, CpuTensor& output);
std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const GlobalAveragePoolOp& op,
                                         CpuTensor& input, CpuTensor& output);
std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const MaxPoolOp& op, CpuTensor& input,
                                         CpuTensor& output);
std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const ActivationOp& op,
                                         CpuTensor& input, CpuTensor& output);
std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const LocalResponseNormOp& op,
                                         CpuTensor& input, CpuTensor& output);
std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const DenseOp& op, CpuTensor& input,
                                         CpuTensor& output);

}  // namespace recordpipe
