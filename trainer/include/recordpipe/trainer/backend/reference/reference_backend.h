// The backend that is written to be read: plain loops, one file per layer, no threads. In float it
// is the reference for the other backends; in double its gradients are checked against finite
// differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
extern template class ReferenceBackend<float>;
extern template class ReferenceBackend<double>;

}  // namespace recordpipe
