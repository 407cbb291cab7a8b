// Variables on a GPU: all trained values are contiguous in one buffer; gradients, momenta and
// averages have buffers of the same layout. The optimiser is therefore one kernel per run of
// adjacent variables with the same factors. Weights for multiplications come first, so that their
// copy in another precision is one kernel too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "recordpipe/trainer/backend/variables.h"
#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/gradient_processor.h"
#include "trainer/backend/cuda/loss_scale.h"
#include "trainer/backend/cuda/muon.h"
#include "trainer/backend/cuda/variable_layout.h"

namespace recordpipe::cuda {

// The element type of tensors.
Element element_of(CudaPrecision precision);

class CudaVariables final : public Variables {
 public:
  CudaVariables(std::shared_ptr<Device> device, const Network& network,
                const CudaBackendOptions& options);

  std::vector<float> read(VariableId id, Slot slot) const override;
  void write(VariableId id, std::span<const float> values, Slot slot) override;
  void apply_momentum(const MomentumOptions& options) override;
  void process_gradients(const GradientOptions& options) override;
  std::span<const double> gradient_norms() const override;
  void start_averages() override;
  void stop_averages() override { has_averages_ = false; }
  bool has_averages() const override { return has_averages_; }
  void update_averages(double decay) override;
  void reset_to_averages() override;
  std::optional<LossScale> loss_scale() const override;
  void set_loss_scale(const std::optional<LossScale>& scale) override;
  double half_squared_norm() const override;

  // Throws Error{invalid_argument} for another device, another precision, or a network whose
  // variables have another layout.
  void require_made_for(const Device& device, const Network& network,
                        const CudaBackendOptions& options) const;

  // The memory of a variable, for layers. Throws Error{invalid_argument} if the slot doesn't exist
  // (see Slot).
  float* at(VariableId id, Slot slot = Slot::value) const;
  // The same for weights, in the tensors' precision.
  const void* weights(VariableId id) const;
  void* weights_gradient(VariableId id) const;
  // Before the forward pass: converts the values to weights().
  void convert_weights() const;
  // After the backward pass: converts weights_gradient() to gradients.
  void convert_gradients() const;

  // The gradients of all trained variables, with zero-filled gaps between them.
  float* gradients() const { return gradients_.as<float>(); }
  size_t trained_size() const { return trained_; }
  // All untrained variables, in the order of their addresses.
  float* statistics() const { return statistics_.as<float>(); }
  size_t statistics_size() const { return statistics_size_; }

  const DeviceLossScale* device_loss_scale() const { return loss_scale_.as<DeviceLossScale>(); }

 private:
  // Adjacent variables in the trained buffers with the same factors. Those that are updated by Muon
  // are runs of their own.
  struct Run {
    size_t begin, end;
    double decay_factor, rate_factor;
    bool orthogonal;
    size_t first_square;  // the index of the run's first sum in squares_
  };

  bool has_copies() const { return element_ != Element::float32; }
  bool scales_loss() const { return element_ == Element::float16; }
  void place(VariableId id);
  void write_loss_scale(const LossScale& scale);
  void update(const Run& run, const MomentumOptions& options);  // apply_momentum() for one run
  void update_by_muon(VariableId id, const MomentumOptions& options);

  std::shared_ptr<Device> device_;
  const Element element_;
  const float initial_loss_scale_;
  const uint32_t loss_scale_growth_interval_;
  const std::vector<VariableLayout> layouts_;
  std::vector<size_t> offsets_;  // in the trained buffers, or in statistics_
  std::vector<Run> runs_;        // all trained variables
  size_t trained_ = 0, weights_ = 0, statistics_size_ = 0;
  Buffer values_, gradients_, momenta_, statistics_;
  Buffer averages_;  // empty until start_averages()
  bool has_averages_ = false;
  std::unique_ptr<GradientProcessor> processor_;
  std::map<VariableId, Muon> muons_;
  Buffer weight_copies_, weight_gradients_;  // unless the precision is float32
  Buffer squares_;                           // scratch memory of half_squared_norm()
  size_t squares_count_ = 0;
  Buffer loss_scale_;
};

}  // namespace recordpipe::cuda
