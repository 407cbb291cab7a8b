// One node of a network on the CPU: the forward and backward pass for the node's tensors.
#pragma once

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

}  // namespace recordpipe
