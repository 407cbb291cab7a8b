#include "trainer/backend/cuda/replicated/multi_gpu_variables.h"

#include <utility>

namespace recordpipe::cuda {

MultiGpuVariables::MultiGpuVariables(Copies copies)
    : Variables(copies.front()->specs()), copies_(std::move(copies)) {}

std::vector<float> MultiGpuVariables::read(VariableId id, Slot slot) const {
  return copies_.front()->read(id, slot);
}

void MultiGpuVariables::write(VariableId id, std::span<const float> values, Slot slot) {
  for (const auto& copy : copies_) copy->write(id, values, slot);
}

void MultiGpuVariables::apply_momentum(const MomentumOptions& options) {
  for (const auto& copy : copies_) copy->apply_momentum(options);
}

void MultiGpuVariables::process_gradients(const GradientOptions& options) {
  for (const auto& copy : copies_) copy->process_gradients(options);
}

std::span<const double> MultiGpuVariables::gradient_norms() const {
  return copies_.front()->gradient_norms();
}

void MultiGpuVariables::start_averages() {
  for (const auto& copy : copies_) copy->start_averages();
}

void MultiGpuVariables::stop_averages() {
  for (const auto& copy : copies_) copy->stop_averages();
}

bool MultiGpuVariables::has_averages() const { return copies_.front()->has_averages(); }

void MultiGpuVariables::update_averages(double decay) {
  for (const auto& copy : copies_) copy->update_averages(decay);
}

void MultiGpuVariables::reset_to_averages() {
  for (const auto& copy : copies_) copy->reset_to_averages();
}

std::optional<LossScale> MultiGpuVariables::loss_scale() const {
  return copies_.front()->loss_scale();
}

void MultiGpuVariables::set_loss_scale(const std::optional<LossScale>& scale) {
  for (const auto& copy : copies_) copy->set_loss_scale(scale);
}

double MultiGpuVariables::half_squared_norm() const { return copies_.front()->half_squared_norm(); }

}  // namespace recordpipe::cuda
