#include "trainer/backend/cpu/cpu_variables.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// Variables start at multiples of a cache line. The gaps always contain zeros.
size_t padded(size_t size) { return (size + 15) / 16 * 16; }

constexpr size_t piece_size = 4096;

}  // namespace

CpuVariables::CpuVariables(std::span<const VariableSpec> specs) : Variables(specs) {
  size_t trained = 0, statistics = 0;
  for (const VariableSpec& spec : specs) {
    size_t& end = spec.trained ? trained : statistics;
    offsets_.push_back(end);
    end += padded(spec.size());
    if (!spec.trained) continue;
    if (runs_.empty() || runs_.back().decay_factor != spec.decay_factor ||
        runs_.back().rate_factor != spec.rate_factor || runs_.back().orthogonal || spec.orthogonal)
      runs_.push_back({.begin = offsets_.back(),
                       .end = end,
                       .decay_factor = spec.decay_factor,
                       .rate_factor = spec.rate_factor,
                       .orthogonal = spec.orthogonal});
    runs_.back().end = end;
    if (spec.orthogonal) {
      newton_schulz_.reserve(spec.shape.front(), spec.size() / spec.shape.front());
      if (direction_.size() < spec.size()) direction_ = internal::AlignedVector<float>(spec.size());
    }
    const VariableId id = offsets_.size() - 1;
    for (size_t begin = offsets_[id]; begin < offsets_[id] + spec.size(); begin += piece_size)
      pieces_.push_back({.id = id,
                         .begin = begin,
                         .end = std::min(begin + piece_size, offsets_[id] + spec.size())});
  }
  gradient_norms_.resize(specs.size());
  gradient_factors_.resize(specs.size());
  values_ = internal::AlignedVector<float>(trained);
  gradients_ = internal::AlignedVector<float>(trained);
  momenta_ = internal::AlignedVector<float>(trained);
  statistics_ = internal::AlignedVector<float>(statistics);
}

std::span<const float> CpuVariables::at(VariableId id, Slot slot) const {
  require_slot(id, slot);
  const VariableSpec& spec = specs()[id];
  const internal::AlignedVector<float>& buffer = !spec.trained            ? statistics_
                                                 : slot == Slot::value    ? values_
                                                 : slot == Slot::gradient ? gradients_
                                                 : slot == Slot::momentum ? momenta_
                                                                          : averages_;
  return std::span(buffer).subspan(offsets_[id], spec.size());
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
  require_size(id, values.size());
  std::ranges::copy(values, at(id, slot).begin());
  ++version_;
}

void CpuVariables::apply_momentum(const MomentumOptions& options) {
  for (VariableId id = 0; id < specs().size(); ++id)
    if (specs()[id].orthogonal && !is_in(options.frozen, id)) update_by_muon(id, options);
  for (Run run : runs_) {
    for (const VariableId id : options.frozen) {
      const VariableSpec& spec = specs()[id];
      if (!spec.trained || offsets_[id] < run.begin || offsets_[id] >= run.end) continue;
      Run before = run;
      before.end = offsets_[id];
      update(before, options);
      run.begin = offsets_[id] + padded(spec.size());
    }
    update(run, options);
  }
  ++version_;
}

void CpuVariables::update(const Run& run, const MomentumOptions& options) {
  if (run.begin == run.end || run.orthogonal) return;
  const auto learning_rate = static_cast<float>(options.learning_rate * run.rate_factor);
  const auto momentum = static_cast<float>(options.momentum);
  const bool nesterov = options.nesterov;
  const auto weight_decay = static_cast<float>(options.weight_decay * run.decay_factor);
  float* values = values_.data();
  float* momenta = momenta_.data();
  const float* gradients = gradients_.data();
#pragma omp parallel for simd schedule(static)
  for (size_t i = run.begin; i < run.end; ++i) {
    const float g = gradients[i] + weight_decay * values[i];
    const float velocity = momentum * momenta[i] + g;
    momenta[i] = velocity;
    values[i] -= learning_rate * (nesterov ? g + momentum * velocity : velocity);
  }
}

void CpuVariables::update_by_muon(VariableId id, const MomentumOptions& options) {
  const VariableSpec& spec = specs()[id];
  const size_t size = spec.size(), rows = spec.shape.front();
  const auto momentum = static_cast<float>(options.muon_momentum);
  const auto rate = static_cast<float>(options.learning_rate * spec.rate_factor);
  float* values = values_.data() + offsets_[id];
  float* momenta = momenta_.data() + offsets_[id];
  float* direction = direction_.data();
  const float* gradients = gradients_.data() + offsets_[id];
  double squares = 0;
  for (size_t i = 0; i < size; ++i) {
    momenta[i] = momentum * momenta[i] + gradients[i];
    direction[i] = gradients[i] + momentum * momenta[i];
    squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  newton_schulz_.orthogonalize(rows, size / rows, direction);
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(rows) / squares));
  for (size_t i = 0; i < size; ++i) values[i] = scale * values[i] - rate * direction[i];
}

// Both kinds of clipping multiply each variable by one factor, which depends on the norms only: a
// gradient is read a second time only if its factor isn't 1.
void CpuVariables::process_gradients(const GradientOptions& options) {
  add_decay_and_multiply(options);

  std::ranges::fill(gradient_norms_, 0);
  for (const Piece& piece : pieces_) gradient_norms_[piece.id] += piece.squares;
  for (double& norm : gradient_norms_) norm = std::sqrt(norm);

  double global_squares = 0;
  for (const double norm : gradient_norms_) {
    const double clipped = norm * clip_factor(norm, options.clip_norm);
    global_squares += clipped * clipped;
  }
  const double global_factor = clip_factor(std::sqrt(global_squares), options.clip_global_norm);
  for (VariableId id = 0; id < specs().size(); ++id)
    gradient_factors_[id] =
        is_in(options.frozen, id)
            ? 1
            : clip_factor(gradient_norms_[id], options.clip_norm) * global_factor;
#pragma omp parallel for schedule(static)
  for (const Piece& piece : pieces_) {
    const auto factor = static_cast<float>(gradient_factors_[piece.id]);
    if (factor == 1) continue;
    float* gradients = gradients_.data();
#pragma omp simd
    for (size_t i = piece.begin; i < piece.end; ++i) gradients[i] *= factor;
  }
}

// Computes the sums of squares in the same pass.
void CpuVariables::add_decay_and_multiply(const GradientOptions& options) {
#pragma omp parallel for schedule(static)
  for (Piece& piece : pieces_) {
    piece.squares = 0;
    if (is_in(options.frozen, piece.id)) continue;
    const auto weight_decay =
        static_cast<float>(options.weight_decay * specs()[piece.id].decay_factor);
    const auto multiplier =
        options.multipliers.empty() ? 1.0f : static_cast<float>(options.multipliers[piece.id]);
    const float* values = values_.data();
    float* gradients = gradients_.data();
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = piece.begin; i < piece.end; ++i) {
      const float gradient = (gradients[i] + weight_decay * values[i]) * multiplier;
      gradients[i] = gradient;
      squares += static_cast<double>(gradient) * static_cast<double>(gradient);
    }
    piece.squares = squares;
  }
}

void CpuVariables::start_averages() {
  if (!has_averages_) averages_ = internal::AlignedVector<float>(values_.size());
  has_averages_ = true;
  std::ranges::copy(values_, averages_.data());
}

void CpuVariables::update_averages(double decay) {
  require_averages();
  const auto take = static_cast<float>(1 - decay);
  const float* values = values_.data();
  float* averages = averages_.data();
  const size_t size = values_.size();
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < size; ++i) averages[i] += take * (values[i] - averages[i]);
}

void CpuVariables::reset_to_averages() {
  require_averages();
  std::ranges::copy(std::span(averages_), values_.data());
  ++version_;
}

double CpuVariables::half_squared_norm() const {
  double sum = 0;
  for (const Run& run : runs_)
    for (const float value : std::span(values_).subspan(run.begin, run.end - run.begin))
      sum += run.decay_factor * static_cast<double>(value) * static_cast<double>(value);
  return sum / 2;
}

}  // namespace recordpipe
