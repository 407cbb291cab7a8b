// Variables on the CPU: all trained values one after the other in one buffer, their gradients and
// momenta in two more of the same shape, so that the optimiser is one loop for all neighbours that
// decay alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/backend/cpu/aligned_buffer.h"
#include "trainer/backend/variables.h"

namespace recordpipe {

class CpuVariables final : public Variables {
 public:
  explicit CpuVariables(std::span<const VariableSpec> specs);

  std::vector<float> read(VariableId id, Slot slot) const override;
  void write(VariableId id, std::span<const float> values, Slot slot) override;
  void apply_momentum(const MomentumOptions& options) override;
  double half_squared_norm() const override;

  // Where a variable lies, for layers. Throws Error{invalid_argument} for the gradient or momentum
  // of a variable that isn't trained.
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

  std::vector<size_t> offsets_;  // in the trained buffers, or in statistics_
  std::vector<Run> runs_;        // all trained variables
  AlignedBuffer values_, gradients_, momenta_;
  AlignedBuffer statistics_;
  uint64_t version_ = 1;
};

}  // namespace recordpipe
