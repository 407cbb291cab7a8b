// The backend that is written to be read: plain loops, one file per layer, no threads. In float it
// is the reference for the other backends; in double its gradients are checked against finite
// differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

// T is float or double.
template <class T>
class ReferenceVariables final : public Variables {
 public:
  explicit ReferenceVariables(std::span<const VariableSpec> specs);

  std::vector<float> read(VariableId id, Slot slot) const override;
  void write(VariableId id, std::span<const float> values, Slot slot) override;
  void apply_momentum(const MomentumOptions& options) override;
  void process_gradients(const GradientOptions& options) override;
  std::span<const double> gradient_norms() const override { return gradient_norms_; }
  void start_averages() override;
  void stop_averages() override { has_averages_ = false; }
  bool has_averages() const override { return has_averages_; }
  void update_averages(double decay) override;
  void reset_to_averages() override;
  double half_squared_norm() const override;

  // The stored values in full precision. Throws Error{invalid_argument} if the slot doesn't exist
  // (see Slot).
  std::span<T> at(VariableId id, Slot slot = Slot::value);
  std::span<const T> at(VariableId id, Slot slot = Slot::value) const;

 private:
  struct Slots {
    std::vector<T> value, gradient, momentum, average;
  };
  void apply_muon(VariableId id, const MomentumOptions& options);

  std::vector<Slots> variables_;
  std::vector<double> gradient_norms_;
  bool has_averages_ = false;
};

template <class T>
class ReferenceRunner final : public Runner {
 public:
  ReferenceRunner(const Network& network, ReferenceVariables<T>& variables,
                  const RunnerOptions& options);

  void load(const ImageBatch& batch) override;
  BatchResult forward() override;
  void backward() override;
  void update_statistics() override;
  std::vector<float> output(NodeId node) const override;
  void trace_to(std::shared_ptr<ChromeTrace> trace) override { trace_ = std::move(trace); }

 private:
  // The tensors of a node, as [images][channels][height][width].
  struct Tensors {
    std::vector<T> output, gradient;
    std::vector<T> mean, variance;  // batch norm's, of the last forward()
  };

  size_t images() const { return labels_.size(); }  // in the loaded batch
  const FeatureShape& shape_of(NodeId node) const { return network_.nodes()[node].shape; }
  // The part that belongs to the loaded images.
  std::span<const T> output_of(NodeId node) const;
  std::span<T> output_of(NodeId node);
  std::span<T> gradient_of(NodeId node);
  std::vector<T> gamma_of(const BatchNormOp& op) const;
  // The mean over the processes that share batch statistics.
  std::vector<T> shared_mean(std::span<const T> values) const;

  void forward(NodeId node, const InputOp& op);
  void forward(NodeId node, const Conv2dOp& op);
  void forward(NodeId node, const BatchNormOp& op);
  void forward(NodeId node, const PoolAndPadOp& op);
  void forward(NodeId node, const GlobalAveragePoolOp& op);
  void forward(NodeId node, const MaxPoolOp& op);
  void forward(NodeId node, const ActivationOp& op);
  void forward(NodeId node, const LocalResponseNormOp& op);
  void forward(NodeId node, const DenseOp& op);
  void forward(NodeId node, const SoftmaxCrossEntropyOp& op);
  void backward(NodeId node, const InputOp& op);
  void backward(NodeId node, const Conv2dOp& op);
  void backward(NodeId node, const BatchNormOp& op);
  void backward(NodeId node, const PoolAndPadOp& op);
  void backward(NodeId node, const GlobalAveragePoolOp& op);
  void backward(NodeId node, const MaxPoolOp& op);
  void backward(NodeId node, const ActivationOp& op);
  void backward(NodeId node, const LocalResponseNormOp& op);
  void backward(NodeId node, const DenseOp& op);
  void backward(NodeId node, const SoftmaxCrossEntropyOp& op);

  const Network network_;
  ReferenceVariables<T>& variables_;
  const RunnerOptions options_;
  std::vector<Tensors> tensors_;  // one for each node
  std::vector<int32_t> labels_;
  BatchResult result_;
  std::shared_ptr<ChromeTrace> trace_;
};

template <class T = float>
class ReferenceBackend final : public Backend {
 public:
  std::string name() const override { return "reference"; }
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;
};

extern template class ReferenceVariables<float>;
extern template class ReferenceVariables<double>;
extern template class ReferenceRunner<float>;
extern template class ReferenceRunner<double>;
extern template class ReferenceBackend<float>;
extern template class ReferenceBackend<double>;

}  // namespace recordpipe
