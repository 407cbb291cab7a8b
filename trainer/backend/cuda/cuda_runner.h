// A network on a GPU.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"
#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/cuda_variables.h"
#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/layers/layer.h"
#include "trainer/backend/cuda/upload.h"

namespace recordpipe::cuda {

class CudaRunner final : public Runner {
 public:
  CudaRunner(std::shared_ptr<Device> device, const Network& network, const CudaVariables& variables,
             const RunnerOptions& options, const CudaBackendOptions& settings);
  ~CudaRunner() override;

  void load(const ImageBatch& batch) override;
  BatchResult forward() override;
  // forward() in two parts. launch() enqueues all work on the stream, including the backward pass,
  // so that other GPUs can start while this one computes.
  void launch();
  BatchResult wait_for_result() const;
  void backward() override;
  void update_statistics() override;
  std::vector<float> output(NodeId node) const override;
  size_t count_zeros(NodeId node) const override;

 private:
  // Adjacent statistics with the same decay.
  struct StatisticsRun {
    size_t begin, end;
    double decay;
  };
  static std::vector<StatisticsRun> statistics_runs(const Network& network,
                                                    const CudaVariables& variables);
  std::unique_ptr<Layer> make_layer(NodeId node);
  // The layers begin with that of node 1.
  bool needs_backward(size_t layer) const { return tensors_[layer + 1]->needs_gradient(); }
  void start(Graph& graph, const std::function<void()>& work);
  void start_forward();
  void start_backward();

  const std::shared_ptr<Device> device_;
  const Network network_;
  const RunnerOptions options_;
  const bool graphs_;
  const std::vector<StatisticsRun> statistics_runs_;
  Buffer new_statistics_;  // of the last batch
  const LayerContext context_;
  std::vector<std::unique_ptr<Tensor>> tensors_;  // one for each node
  std::unique_ptr<Upload> upload_;
  std::vector<std::unique_ptr<Layer>> layers_;  // one for each node between input and loss
  SoftmaxCrossEntropy loss_ = {};
  Buffer losses_;        // one per image, and the batch's
  PinnedBuffer result_;  // the batch's, for the host
  Buffer zero_counts_;   // count_zeros(): the result, and its partial counts
  PinnedBuffer zeros_;   // the result, for the host
  Event result_is_there_;
  bool ran_ = false;
  Graph forward_graph_, backward_graph_;
  size_t images_ = 0;  // in the loaded batch
};

}  // namespace recordpipe::cuda
