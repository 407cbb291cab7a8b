// The numbers a network learns and keeps, in the memory of a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/model/network.h"

namespace recordpipe {

// What there is of a variable. Gradients and momentum exist for trained variables only.
enum class Slot { value, gradient, momentum };

struct MomentumOptions {
  double learning_rate = 0.1;
  double momentum = 0.9;
  // Of the penalty weight_decay · Σ decay_factor · ½ ‖w‖² (see VariableSpec), part of the gradient.
  double weight_decay = 2e-4;
};

// Numbers go in and out as float32 in the row-major order of VariableSpec::shape, whatever a
// backend makes of them inside.
class Variables {
 public:
  explicit Variables(std::span<const VariableSpec> specs) : specs_(specs.begin(), specs.end()) {}
  virtual ~Variables() = default;
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  std::span<const VariableSpec> specs() const { return specs_; }

  virtual std::vector<float> read(VariableId id, Slot slot = Slot::value) const = 0;
  // `values` must be as many as the variable has.
  virtual void write(VariableId id, std::span<const float> values, Slot slot = Slot::value) = 0;

  // One step of gradient descent with momentum (Polyak 1964; Sutskever et al. 2013) on all trained
  // variables: v = momentum · v + gradient + weight_decay · decay_factor · w, then
  // w = w - learning_rate · v.
  virtual void apply_momentum(const MomentumOptions& options) = 0;

  // Σ decay_factor · ½ ‖w‖² over all trained variables.
  virtual double half_squared_norm() const = 0;

 private:
  std::vector<VariableSpec> specs_;
};

// Sets every variable to its initial value and every momentum to zero.
void initialize(Variables& variables, uint64_t seed);

}  // namespace recordpipe
