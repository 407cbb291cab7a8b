#include "trainer/backend/cpu/cpu_variables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dataset/base/error.h"

namespace recordpipe {
namespace {

// Variables start at multiples of a cache line. The gaps are zero and stay so.
size_t padded(size_t size) { return (size + 15) / 16 * 16; }

}  // namespace

CpuVariables::CpuVariables(std::span<const VariableSpec> specs) : Variables(specs) {
  size_t trained = 0, statistics = 0;
  for (const VariableSpec& spec : specs) {
    size_t& end = spec.trained ? trained : statistics;
    offsets_.push_back(end);
    end += padded(spec.size());
    if (!spec.trained) continue;
    if (runs_.empty() || runs_.back().decay_factor != spec.decay_factor)
      runs_.push_back({.begin = offsets_.back(), .end = end, .decay_factor = spec.decay_factor});
    runs_.back().end = end;
  }
  values_ = AlignedBuffer(trained);
  gradients_ = AlignedBuffer(trained);
  momenta_ = AlignedBuffer(trained);
  statistics_ = AlignedBuffer(statistics);
}

std::span<const float> CpuVariables::at(VariableId id, Slot slot) const {
  const VariableSpec& spec = specs()[id];
  if (!spec.trained && slot != Slot::value)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = spec.name + " is not trained: it has no gradient or momentum"});
  const AlignedBuffer& buffer = !spec.trained            ? statistics_
                                : slot == Slot::value    ? values_
                                : slot == Slot::gradient ? gradients_
                                                         : momenta_;
  return buffer.span().subspan(offsets_[id], spec.size());
}

std::span<float> CpuVariables::at(VariableId id, Slot slot) {
  const std::span<const float> values = std::as_const(*this).at(id, slot);
  return {const_cast<float*>(values.data()), values.size()};
}

std::vector<float> CpuVariables::read(VariableId id, Slot slot) const {
  const std::span<const float> values = at(id, slot);
  return {values.begin(), values.end()};
}

void CpuVariables::write(VariableId id, std::span<const float> values, Slot slot) {
  const std::span<float> target = at(id, slot);
  if (values.size() != target.size())
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = specs()[id].name + " has " + std::to_string(target.size()) +
                           " values, not " + std::to_string(values.size())});
  std::copy(values.begin(), values.end(), target.begin());
  ++version_;
}

void CpuVariables::apply_momentum(const MomentumOptions& options) {
  const auto learning_rate = static_cast<float>(options.learning_rate);
  const auto momentum = static_cast<float>(options.momentum);
  float* values = values_.data();
  float* momenta = momenta_.data();
  const float* gradients = gradients_.data();
  for (const Run& run : runs_) {
    const auto weight_decay = static_cast<float>(options.weight_decay * run.decay_factor);
#pragma omp parallel for simd schedule(static)
    for (size_t i = run.begin; i < run.end; ++i) {
      const float velocity = momentum * momenta[i] + gradients[i] + weight_decay * values[i];
      momenta[i] = velocity;
      values[i] -= learning_rate * velocity;
    }
  }
  ++version_;
}

double CpuVariables::half_squared_norm() const {
  double sum = 0;
  for (const Run& run : runs_)
    for (const float value : values_.span().subspan(run.begin, run.end - run.begin))
      sum += run.decay_factor * static_cast<double>(value) * static_cast<double>(value);
  return sum / 2;
}

}  // namespace recordpipe
