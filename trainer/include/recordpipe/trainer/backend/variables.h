// The variables of a network, in the memory of a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// The stored tensors of a variable. Gradient, momentum and average exist for trained variables
// only; averages exist between Variables::start_averages() and stop_averages().
enum class Slot { value, gradient, momentum, average };

struct MomentumOptions {
  double learning_rate = 0.1;  // times VariableSpec::rate_factor
  double momentum = 0.9;
  bool nesterov = false;       // see Variables::apply_momentum()
  double muon_momentum = 0.6;  // Nesterov's, of the variables that are updated by Muon
  // Adds weight_decay · decay_factor · w to each gradient (see VariableSpec): the gradient of the
  // penalty weight_decay · Σ decay_factor · ½ ‖w‖².
  double weight_decay = 2e-4;
  // Trained variables that are not updated, nor their momentum. In ascending order.
  std::span<const VariableId> frozen = {};
};

// The processing of gradients before an update, in the order of the members.
struct GradientOptions {
  // Adds the penalty's gradient: weight_decay · decay_factor · w, as in MomentumOptions. (The
  // update that follows must not add it again.)
  double weight_decay = 0;
  // Multiplies each gradient by a factor, indexed by VariableId; empty (default): no
  // multiplication.
  std::span<const double> multipliers = {};
  // Scales each gradient with a larger Euclidean norm down to this norm (TensorFlow's
  // clip_by_norm).
  std::optional<double> clip_norm = {};
  // If the global norm of all gradients is then larger than this, scales all by the same factor, so
  // that it equals this norm (Pascanu et al. 2012, https://arxiv.org/abs/1211.5063; TensorFlow's
  // clip_by_global_norm).
  std::optional<double> clip_global_norm = {};
  // Trained variables whose gradients are ignored and not changed. In ascending order.
  std::span<const VariableId> frozen = {};
};

// The factor that scales a gradient of norm `norm` to a norm of at most `limit`. NaN if `norm` is
// infinite or NaN: clipping must not turn non-finite gradients into finite ones.
double clip_factor(double norm, std::optional<double> limit);

// The factor by which a backend scales gradients while it computes them in float16, so that small
// ones don't underflow. It changes during a training run.
struct LossScale {
  float scale = 1;          // a power of two from 1 to 2^24
  uint32_t good_steps = 0;  // since the last change or overflow
  bool operator==(const LossScale&) const = default;
};
bool is_valid(const LossScale& scale);

// Values are passed as float32 in the row-major order of VariableSpec::shape, independent of a
// backend's internal layout.
class Variables {
 public:
  explicit Variables(std::span<const VariableSpec> specs) : specs_(specs.begin(), specs.end()) {}
  virtual ~Variables() = default;
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  std::span<const VariableSpec> specs() const { return specs_; }

  virtual std::vector<float> read(VariableId id, Slot slot = Slot::value) const = 0;
  // `values` must have as many values as the variable.
  virtual void write(VariableId id, std::span<const float> values, Slot slot = Slot::value) = 0;

  // One step of gradient descent with momentum (Polyak 1964) for all trained variables that are not
  // frozen: v = momentum · v + (gradient + weight_decay · decay_factor · w), then
  // w = w - learning_rate · rate_factor · v. With Nesterov's momentum (Sutskever et al. 2013), v in
  // the last formula is gradient + weight_decay · decay_factor · w + momentum · v. As in
  // TensorFlow's MomentumOptimizer and torch.optim.SGD, v doesn't contain the rate, so that a new
  // rate takes effect at once.
  //
  // Variables with VariableSpec::orthogonal are matrices of n rows, updated by Muon (Jordan et al.
  // 2024, https://kellerjordan.github.io/posts/muon/), without weight decay: v = muon_momentum · v
  // + gradient, w = w · √n / ‖w‖ - learning_rate · rate_factor · O(gradient + muon_momentum · v).
  // O(x) is about the orthogonal matrix that is nearest to x, by three steps of Newton and Schulz's
  // iteration on x / (‖x‖ + 1e-7): x = 3.4445 x - 4.775 x xᵀ x + 2.0315 x xᵀ x xᵀ x. Singular
  // values above about a fiftieth of ‖x‖ become 0.7 to 1.2.
  virtual void apply_momentum(const MomentumOptions& options) = 0;

  // Processes the gradients of all trained variables that are not frozen.
  virtual void process_gradients(const GradientOptions& options) = 0;
  // The gradient norms computed by the last process_gradients(), by VariableId: after
  // multiplication and before clipping; 0 for untrained and frozen variables. A norm is finite if
  // and only if the gradient is.
  virtual std::span<const double> gradient_norms() const = 0;

  // Starts averages; each starts from its variable's value, as TensorFlow's
  // ExponentialMovingAverage does. A further call restarts them.
  virtual void start_averages() = 0;
  // Removes the averages; a no-op if there are none.
  virtual void stop_averages() = 0;
  virtual bool has_averages() const = 0;
  // average = average + (1 - decay) · (value - average), for all trained variables. Throws
  // Error{invalid_argument} if there are no averages.
  virtual void update_averages(double decay) = 0;
  // value = average, for all trained variables. Throws Error{invalid_argument} if there are no
  // averages.
  virtual void reset_to_averages() = 0;

  // The loss scale after the last update; empty if gradients are not scaled.
  virtual std::optional<LossScale> loss_scale() const { return {}; }
  // Continues with this scale, or with the initial one if it is empty. A no-op if gradients are not
  // scaled.
  virtual void set_loss_scale(const std::optional<LossScale>& /*scale*/) {}

  // Σ decay_factor · ½ ‖w‖² over all trained variables.
  virtual double half_squared_norm() const = 0;

 protected:
  // Throw Error{invalid_argument}: if there are no averages; if the variable doesn't have this
  // slot; if it has another number of values.
  void require_averages() const;
  void require_slot(VariableId id, Slot slot) const;
  void require_size(VariableId id, size_t size) const;

 private:
  std::vector<VariableSpec> specs_;
};

// Whether `id` is one of `ids`, which must be in ascending order.
bool is_in(std::span<const VariableId> ids, VariableId id);

// Sets every variable to its initial value, its average too if there are averages, every momentum
// to zero, and the loss scale to its initial one.
void initialize(Variables& variables, uint64_t seed);

// Prepares `to` for an evaluation with averages: copies the averages of trained variables and the
// values of the others (batch norm's statistics, which are averages already). `to` is another
// object of the same network, so a failed evaluation can't affect the trained variables. Throws
// Error{invalid_argument} if `from` has no averages or belongs to another network.
//
//   const auto averaged = backend.make_variables(network);
//   copy_averages(*variables, *averaged);
//   evaluate(backend, network, *averaged, batches, {.batch_size = 100});
void copy_averages(const Variables& from, Variables& to);

}  // namespace recordpipe
