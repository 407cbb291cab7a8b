#include "trainer/backend/cuda/gradient_processor.h"

#include <algorithm>
#include <utility>

namespace recordpipe::cuda {
namespace {

template <class T>
Buffer copy_of(const std::vector<T>& values, const Device& device) {
  Buffer buffer(values.size() * sizeof(T));
  device.write(buffer.data(), values.data(), buffer.bytes());
  return buffer;
}

}  // namespace

GradientProcessor::GradientProcessor(const Device& device, std::span<const TrainedRange> ranges)
    : device_(device), norms_(ranges.size()) {
  std::vector<GradientPiece> pieces;
  std::vector<uint32_t> first_pieces;
  for (size_t id = 0; id < ranges.size(); ++id) {
    first_pieces.push_back(static_cast<uint32_t>(pieces.size()));
    for (size_t begin = ranges[id].begin; begin < ranges[id].end; begin += kGradientPiece)
      pieces.push_back(
          {.begin = static_cast<uint32_t>(begin),
           .end = static_cast<uint32_t>(std::min(begin + kGradientPiece, ranges[id].end)),
           .variable = static_cast<uint32_t>(id)});
  }
  first_pieces.push_back(static_cast<uint32_t>(pieces.size()));
  pieces_ = copy_of(pieces, device);
  first_pieces_ = copy_of(first_pieces, device);
  device_treatments_ = Buffer(ranges.size() * sizeof(GradientTreatment));
  squares_ = Buffer(gradient_squares_size(static_cast<uint32_t>(pieces.size())) * sizeof(double));
  device_norms_ = Buffer(ranges.size() * sizeof(double));
  factors_ = Buffer(ranges.size() * sizeof(double));
  work_.variables = static_cast<uint32_t>(ranges.size());
  work_.piece_count = static_cast<uint32_t>(pieces.size());
  work_.pieces = pieces_.as<GradientPiece>();
  work_.first_pieces = first_pieces_.as<uint32_t>();
  work_.treatments = device_treatments_.as<GradientTreatment>();
  work_.squares = squares_.as<double>();
  work_.norms = device_norms_.as<double>();
  work_.factors = factors_.as<double>();
}

void GradientProcessor::process(const GradientOptions& options, std::span<const VariableSpec> specs,
                                const float* values, float* gradients) {
  std::vector<GradientTreatment> treatments(specs.size());
  for (VariableId id = 0; id < specs.size(); ++id)
    treatments[id] = {
        .weight_decay = static_cast<float>(options.weight_decay * specs[id].decay_factor),
        .multiplier =
            options.multipliers.empty() ? 1.0f : static_cast<float>(options.multipliers[id]),
        .frozen = is_in(options.frozen, id) ? 1u : 0u};
  // They are constant during a training run and so copied only once.
  if (treatments != treatments_) {
    device_.write(device_treatments_.data(), treatments.data(), device_treatments_.bytes());
    treatments_ = std::move(treatments);
  }
  work_.values = values;
  work_.gradients = gradients;
  work_.clip_norm = options.clip_norm.value_or(0);
  work_.clip_global_norm = options.clip_global_norm.value_or(0);
  process_gradients(device_.compute(), work_);
  norms_are_here_ = false;
}

std::span<const double> GradientProcessor::norms() {
  if (!norms_are_here_) {
    device_.read(norms_.data(), device_norms_.data(), device_norms_.bytes());
    norms_are_here_ = true;
  }
  return norms_;
}

}  // namespace recordpipe::cuda
