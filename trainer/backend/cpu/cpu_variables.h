// Variables on the CPU: all trained values one after the other in one buffer, their gradients,
// momenta and averages in more of the same shape, so that the optimiser is one loop for all
// neighbours that decay alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recordpipe/trainer/backend/variables.h"
#include "trainer/backend/cpu/aligned_buffer.h"

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
  double half_squared_norm() const override;

  // Where a variable lies, for layers. Throws Error{invalid_argument} for a slot that there isn't
  // (see Slot).
  std::span<float> at(VariableId id, Slot slot = Slot::value);
  std::span<const float> at(VariableId id, Slot slot = Slot::value) const;

  // Grows whenever values may have changed: who keeps a copy in another layout knows when to
  // make it anew.
  uint64_t version() const { return version_; }

 private:
  // Neighbours in the trained buffers with the same decay factor.
  struct Run {
    size_t begin, end;
    double decay_factor;
  };

  // A part of a trained variable, small enough that threads can share out large ones. Sums are
  // taken by piece, then added up in their order: they don't depend on the threads.
  struct Piece {
    VariableId id;
    size_t begin, end;
    double squares = 0;  // of the gradient
  };

  void update(const Run& run, const MomentumOptions& options);  // apply_momentum() of a part
  void add_decay_and_multiply(const GradientOptions& options);

  std::vector<size_t> offsets_;  // in the trained buffers, or in statistics_
  std::vector<Run> runs_;        // all trained variables
  std::vector<Piece> pieces_;    // all trained variables
  std::vector<double> gradient_norms_, gradient_factors_;  // one for each variable
  AlignedBuffer values_, gradients_, momenta_;
  AlignedBuffer averages_;  // none until start_averages()
  bool has_averages_ = false;
  AlignedBuffer statistics_;
  uint64_t version_ = 1;
};

}  // namespace recordpipe
