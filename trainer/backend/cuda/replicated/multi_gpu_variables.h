// The variables of a network on several GPUs: identical copies, one on each.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trainer/backend/cuda/cuda_variables.h"

namespace recordpipe::cuda {

class MultiGpuVariables final : public Variables {
 public:
  using Copies = std::vector<std::unique_ptr<CudaVariables>>;
  // `copies` must not be empty.
  explicit MultiGpuVariables(Copies copies);

  const Copies& copies() const { return copies_; }

  // Reads come from the first copy; writes and updates go to all copies.
  std::vector<float> read(VariableId id, Slot slot) const override;
  void write(VariableId id, std::span<const float> values, Slot slot) override;
  void apply_momentum(const MomentumOptions& options) override;
  void process_gradients(const GradientOptions& options) override;
  std::span<const double> gradient_norms() const override;
  void start_averages() override;
  void stop_averages() override;
  bool has_averages() const override;
  void update_averages(double decay) override;
  void reset_to_averages() override;
  std::optional<LossScale> loss_scale() const override;
  void set_loss_scale(const std::optional<LossScale>& scale) override;
  double half_squared_norm() const override;

 private:
  const Copies copies_;
};

}  // namespace recordpipe::cuda
