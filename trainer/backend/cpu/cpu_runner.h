// A network on the CPU: oneDNN for convolutions and matrix products, own loops for memory-bound
// layers.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"
#include "trainer/backend/cpu/cpu_variables.h"
#include "trainer/backend/cpu/layers/input_layer.h"
#include "trainer/backend/cpu/layers/layer.h"
#include "trainer/backend/cpu/layers/loss_layer.h"
#include "trainer/backend/cpu/tensor.h"

namespace recordpipe {

class CpuRunner final : public Runner {
 public:
  CpuRunner(const Network& network, CpuVariables& variables, const RunnerOptions& options);

  void load(const ImageBatch& batch) override;
  BatchResult forward() override;
  void backward() override;
  void update_statistics() override;
  std::vector<float> output(NodeId node) const override;
  size_t count_zeros(NodeId node) const override;
  void trace_to(std::shared_ptr<ChromeTrace> trace) override { trace_ = std::move(trace); }

  // Seconds spent in a node since the runner was made.
  struct NodeTime {
    double forward = 0;
    double backward = 0;
  };
  std::span<const NodeTime> times() const { return times_; }

 private:
  size_t lanes_of(NodeId node) const;
  std::unique_ptr<CpuLayer> make_layer(NodeId node);

  const Network network_;
  const RunnerOptions options_;
  CpuContext context_;
  size_t lanes_ = 1;                                 // of the tensors between convolutions
  std::vector<std::unique_ptr<CpuTensor>> tensors_;  // one for each node
  std::vector<std::unique_ptr<CpuLayer>> layers_;    // one per node
  std::vector<NodeTime> times_;                      // one per node
  GradientPool gradients_;
  CpuInput* input_ = nullptr;  // the first layer
  CpuLoss* loss_ = nullptr;    // the last layer
  size_t images_ = 0;          // in the loaded batch
  std::shared_ptr<ChromeTrace> trace_;
};

}  // namespace recordpipe
