// One node of a network on the CPU: what its forward and backward pass do with the node's tensors.
#pragma once

#include "recordpipe/trainer/backend/backend.h"
#include "trainer/backend/cpu/cpu_variables.h"
#include "trainer/backend/cpu/onednn.h"
#include "trainer/backend/cpu/tensor.h"

namespace recordpipe {

// What all layers of a runner share.
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

  // Makes backward() ready. Called in training, once, in the order of the backward pass: adds a
  // part to the gradient of every input that needs one, and gives back to the pool what nobody
  // reads after this layer's backward().
  virtual void prepare_backward(GradientPool& pool) = 0;
  // Reads the gradient of this node's output, writes those of its inputs and variables.
  virtual void backward() = 0;

  // See Runner::update_statistics.
  virtual void update_statistics() {}
};

}  // namespace recordpipe
