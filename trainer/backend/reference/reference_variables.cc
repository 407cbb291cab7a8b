#include <algorithm>
#include <cmath>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "trainer/backend/reference/newton_schulz.h"

namespace recordpipe {

template <class T>
ReferenceVariables<T>::ReferenceVariables(std::span<const VariableSpec> specs)
    : Variables(specs), gradient_norms_(specs.size()) {
  for (const VariableSpec& spec : specs) {
    Slots slots;
    slots.value.resize(spec.size());
    if (spec.trained) {
      slots.gradient.resize(spec.size());
      slots.momentum.resize(spec.size());
    }
    variables_.push_back(std::move(slots));
  }
}

template <class T>
std::span<const T> ReferenceVariables<T>::at(VariableId id, Slot slot) const {
  require_slot(id, slot);
  const Slots& slots = variables_[id];
  return slot == Slot::value      ? slots.value
         : slot == Slot::gradient ? slots.gradient
         : slot == Slot::momentum ? slots.momentum
                                  : slots.average;
}

template <class T>
std::span<T> ReferenceVariables<T>::at(VariableId id, Slot slot) {
  const std::span<const T> values = std::as_const(*this).at(id, slot);
  return {const_cast<T*>(values.data()), values.size()};
}

template <class T>
std::vector<float> ReferenceVariables<T>::read(VariableId id, Slot slot) const {
  const std::span<const T> values = at(id, slot);
  return {values.begin(), values.end()};
}

template <class T>
void ReferenceVariables<T>::write(VariableId id, std::span<const float> values, Slot slot) {
  require_size(id, values.size());
  std::ranges::copy(values, at(id, slot).begin());
}

template <class T>
void ReferenceVariables<T>::apply_momentum(const MomentumOptions& options) {
  const T momentum = static_cast<T>(options.momentum);
  for (VariableId id = 0; id < variables_.size(); ++id) {
    if (!specs()[id].trained || is_in(options.frozen, id)) continue;
    if (specs()[id].orthogonal) {
      apply_muon(id, options);
      continue;
    }
    auto& [value, gradient, velocity, average] = variables_[id];  // velocity: Slot::momentum
    const T learning_rate = static_cast<T>(options.learning_rate * specs()[id].rate_factor);
    const T weight_decay = static_cast<T>(options.weight_decay * specs()[id].decay_factor);
    for (size_t i = 0; i < gradient.size(); ++i) {
      const T g = gradient[i] + weight_decay * value[i];
      velocity[i] = momentum * velocity[i] + g;
      value[i] -= learning_rate * (options.nesterov ? g + momentum * velocity[i] : velocity[i]);
    }
  }
}

template <class T>
void ReferenceVariables<T>::apply_muon(VariableId id, const MomentumOptions& options) {
  auto& [value, gradient, velocity, average] = variables_[id];
  const size_t rows = specs()[id].shape.front();
  const T momentum = static_cast<T>(options.muon_momentum);
  double squares = 0;
  std::vector<T> direction(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    direction[i] = gradient[i] + momentum * velocity[i];
    squares += static_cast<double>(value[i]) * static_cast<double>(value[i]);
  }
  direction = reference::newton_schulz(rows, std::move(direction));
  const T scale = static_cast<T>(std::sqrt(static_cast<double>(rows) / squares));
  const T rate = static_cast<T>(options.learning_rate * specs()[id].rate_factor);
  for (size_t i = 0; i < value.size(); ++i) value[i] = scale * value[i] - rate * direction[i];
}

template <class T>
void ReferenceVariables<T>::process_gradients(const GradientOptions& options) {
  const auto norm = [](std::span<const T> gradient) {
    double squares = 0;
    for (const T g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
    return std::sqrt(squares);
  };
  const auto scale = [](std::span<T> gradient, double factor) {
    for (T& g : gradient) g *= static_cast<T>(factor);
  };

  gradient_norms_.assign(variables_.size(), 0);
  double global_squares = 0;
  for (VariableId id = 0; id < variables_.size(); ++id) {
    if (!specs()[id].trained || is_in(options.frozen, id)) continue;
    const std::span<T> gradient = variables_[id].gradient;
    const T weight_decay = static_cast<T>(options.weight_decay * specs()[id].decay_factor);
    for (size_t i = 0; i < gradient.size(); ++i)
      gradient[i] += weight_decay * variables_[id].value[i];
    if (!options.multipliers.empty()) scale(gradient, options.multipliers[id]);
    gradient_norms_[id] = norm(gradient);
    scale(gradient, clip_factor(gradient_norms_[id], options.clip_norm));
    const double clipped = norm(gradient);
    global_squares += clipped * clipped;
  }
  const double factor = clip_factor(std::sqrt(global_squares), options.clip_global_norm);
  for (VariableId id = 0; id < variables_.size(); ++id)
    if (specs()[id].trained && !is_in(options.frozen, id)) scale(variables_[id].gradient, factor);
}

template <class T>
void ReferenceVariables<T>::start_averages() {
  for (VariableId id = 0; id < variables_.size(); ++id)
    if (specs()[id].trained) variables_[id].average = variables_[id].value;
  has_averages_ = true;
}

template <class T>
void ReferenceVariables<T>::update_averages(double decay) {
  require_averages();
  const T take = static_cast<T>(1 - decay);
  for (VariableId id = 0; id < variables_.size(); ++id) {
    if (!specs()[id].trained) continue;
    Slots& slots = variables_[id];
    for (size_t i = 0; i < slots.average.size(); ++i)
      slots.average[i] += take * (slots.value[i] - slots.average[i]);
  }
}

template <class T>
void ReferenceVariables<T>::reset_to_averages() {
  require_averages();
  for (VariableId id = 0; id < variables_.size(); ++id)
    if (specs()[id].trained) variables_[id].value = variables_[id].average;
}

template <class T>
double ReferenceVariables<T>::half_squared_norm() const {
  double sum = 0;
  for (VariableId id = 0; id < variables_.size(); ++id) {
    if (!specs()[id].trained) continue;
    for (const T value : variables_[id].value)
      sum += specs()[id].decay_factor * static_cast<double>(value) * static_cast<double>(value);
  }
  return sum / 2;
}

template class ReferenceVariables<float>;
template class ReferenceVariables<double>;

}  // namespace recordpipe
