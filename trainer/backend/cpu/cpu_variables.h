// Variables on the CPU: all trained values are contiguous in one buffer; gradients, momenta and
// averages have buffers of the same layout. The optimiser is therefore one loop per run of adjacent
// variables with the same decay and rate factors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recordpipe/base/internal/aligned_allocator.h"
#include "recordpipe/trainer/backend/variables.h"
#include "trainer/backend/cpu/newton_schulz.h"

namespace recordpipe {

class CpuVariables final : public Variables {
 public:
  explicit CpuVariables(std::span<const VariableSpec> specs);

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

  // The memory of a variable, for layers. Throws Error{invalid_argument} if the slot doesn't exist
  // (see Slot).
  std::span<float> at(VariableId id, Slot slot = Slot::value);
  std::span<const float> at(VariableId id, Slot slot = Slot::value) const;

  // Increases whenever values may have changed: copies in other layouts must then be renewed.
  uint64_t version() const { return version_; }

 private:
  // Adjacent variables in the trained buffers with the same factors. Those that are updated by Muon
  // are runs of their own.
  struct Run {
    size_t begin, end;
    double decay_factor, rate_factor;
    bool orthogonal;
  };

  // A part of a trained variable, the unit of work for threads. Sums are computed per piece and
  // added in order, so they don't depend on the number of threads.
  struct Piece {
    VariableId id;
    size_t begin, end;
    double squares = 0;  // of the gradient
  };

  void update(const Run& run, const MomentumOptions& options);  // apply_momentum() for one run
  void update_by_muon(VariableId id, const MomentumOptions& options);
  void add_decay_and_multiply(const GradientOptions& options);

  std::vector<size_t> offsets_;  // in the trained buffers, or in statistics_
  std::vector<Run> runs_;        // all trained variables
  NewtonSchulz newton_schulz_;
  internal::AlignedVector<float> direction_;               // of a variable that is updated by Muon
  std::vector<Piece> pieces_;                              // all trained variables
  std::vector<double> gradient_norms_, gradient_factors_;  // one per variable
  internal::AlignedVector<float> values_, gradients_, momenta_;
  internal::AlignedVector<float> averages_;  // empty until start_averages()
  bool has_averages_ = false;
  internal::AlignedVector<float> statistics_;
  uint64_t version_ = 1;
};

}  // namespace recordpipe
