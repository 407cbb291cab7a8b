// The numbers a network learns and keeps, in the memory of a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// What there is of a variable. Gradients, momentum and averages exist for trained variables only,
// averages between Variables::start_averages() and stop_averages().
enum class Slot { value, gradient, momentum, average };

struct MomentumOptions {
  double learning_rate = 0.1;
  double momentum = 0.9;
  // Of the penalty weight_decay · Σ decay_factor · ½ ‖w‖² (see VariableSpec), part of the gradient.
  double weight_decay = 2e-4;
  // Trained variables that stay as they are, their momentum too. Ascending.
  std::span<const VariableId> frozen = {};
};

// What happens to gradients before an update, in this order.
struct GradientOptions {
  // The penalty's part is added: weight_decay · decay_factor · w, as in MomentumOptions. (An update
  // that follows must not add it again.)
  double weight_decay = 0;
  // Each is multiplied with the number of its variable, by VariableId; empty: all with 1.
  std::span<const double> multipliers = {};
  // Each that is longer than this (Euclidean norm) is scaled down to it (TensorFlow's
  // clip_by_norm).
  std::optional<double> clip_norm = {};
  // If all together are then longer than this, all are scaled by the same factor, so that their
  // norm becomes it (Pascanu et al. 2012, https://arxiv.org/abs/1211.5063; TensorFlow's
  // clip_by_global_norm).
  std::optional<double> clip_global_norm = {};
  // Trained variables whose gradients don't count and stay as they are. Ascending.
  std::span<const VariableId> frozen = {};
};

// What a gradient of this norm is multiplied with so that its norm is at most `limit`. Not a number
// where the norm is infinite or none: clipping must not make numbers of what has none.
double clip_factor(double norm, std::optional<double> limit);

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
  // variables that aren't frozen: v = momentum · v + (gradient + weight_decay · decay_factor · w),
  // then w = w - learning_rate · v.
  virtual void apply_momentum(const MomentumOptions& options) = 0;

  // Changes the gradients of all trained variables that aren't frozen as the options say.
  virtual void process_gradients(const GradientOptions& options) = 0;
  // The norms that the last process_gradients() found, by VariableId: after multiplication, before
  // any clipping; 0 for what isn't trained or frozen. Finite if and only if the gradient is.
  virtual std::span<const double> gradient_norms() const = 0;

  // From now on there are averages; each starts from its variable's value, as TensorFlow's
  // ExponentialMovingAverage. Called again, they start anew.
  virtual void start_averages() = 0;
  // From now on there are none; nothing changes where there are none.
  virtual void stop_averages() = 0;
  virtual bool has_averages() const = 0;
  // average = average + (1 - decay) · (value - average), of all trained variables. Throws
  // Error{invalid_argument} where there are no averages.
  virtual void update_averages(double decay) = 0;

  // Σ decay_factor · ½ ‖w‖² over all trained variables.
  virtual double half_squared_norm() const = 0;

 protected:
  // Throws Error{invalid_argument} where there are no averages.
  void require_averages() const;

 private:
  std::vector<VariableSpec> specs_;
};

// Whether a variable is one of `ids`, which ascend.
bool is_in(std::span<const VariableId> ids, VariableId id);

// Sets every variable to its initial value, averages too where there are some, and every momentum
// to zero.
void initialize(Variables& variables, uint64_t seed);

// Gives the values of `to` what an evaluation by averages takes: the averages of trained variables,
// the values of the others (batch norm's statistics, which are averages already). `to` is another
// object of the same network, so that whatever becomes of the evaluation, what is trained can't be
// lost by it. Throws Error{invalid_argument} where `from` has no averages, or for another network.
//
//   const auto averaged = backend.make_variables(network);
//   copy_averages(*variables, *averaged);
//   evaluate(backend, network, *averaged, batches, batch_size);
void copy_averages(const Variables& from, Variables& to);

}  // namespace recordpipe
