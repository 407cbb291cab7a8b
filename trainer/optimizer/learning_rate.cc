#include "recordpipe/trainer/optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

void require(bool condition, const char* reason) {
  if (!condition) throw Error({.kind = ErrorKind::invalid_argument, .reason = reason});
}

}  // namespace

LearningRateSchedule piecewise_constant(std::vector<uint64_t> boundaries,
                                        std::vector<double> values) {
  require(values.size() == boundaries.size() + 1 && std::ranges::is_sorted(boundaries),
          "a piecewise schedule needs ascending boundaries and one value more than boundaries");
  return [boundaries = std::move(boundaries), values = std::move(values)](uint64_t step) {
    const auto reached = std::lower_bound(boundaries.begin(), boundaries.end(), step);
    return values[static_cast<size_t>(reached - boundaries.begin())];
  };
}

LearningRateSchedule tutorial_schedule(double base_rate, uint64_t steps_per_epoch) {
  return piecewise_constant({82 * steps_per_epoch, 123 * steps_per_epoch, 300 * steps_per_epoch},
                            {base_rate, 0.1 * base_rate, 0.01 * base_rate, 0.002 * base_rate});
}

LearningRateSchedule cosine_schedule(double peak, uint64_t warmup_steps, uint64_t total_steps) {
  return [=](uint64_t step) {
    if (step < warmup_steps)
      return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    if (step >= total_steps) return 0.0;
    const double progress =
        static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
    return peak * 0.5 * (1 + std::cos(std::numbers::pi * progress));
  };
}

LearningRateSchedule exponential_decay(const ExponentialDecayOptions& options) {
  require(options.decay_rate > 0 && std::isfinite(options.decay_rate),
          "the decay rate must be above 0");
  require(options.decay_steps > 0, "the number of decay steps must be above 0");
  return [options](uint64_t step) {
    const double exponent =
        options.staircase ? static_cast<double>(step / options.decay_steps)
                          : static_cast<double>(step) / static_cast<double>(options.decay_steps);
    return options.initial_rate * std::pow(options.decay_rate, exponent);
  };
}

LearningRateSchedule tutorial_cnn_schedule(const TutorialCnnScheduleOptions& options) {
  const auto [images, batch_size, epochs, initial_rate, decay_rate] = options;
  require(batch_size > 0 && images > 0 && epochs > 0 && epochs <= UINT64_MAX / images &&
              images * epochs >= batch_size,
          "the epochs per decay don't give a valid number of steps");
  return exponential_decay({.initial_rate = initial_rate,
                            .decay_rate = decay_rate,
                            .decay_steps = images * epochs / batch_size,
                            .staircase = true});
}

LearningRateSchedule one_cycle_schedule(const OneCycleOptions& options) {
  for (const double rate : {options.initial_rate, options.peak_rate, options.final_rate})
    require(std::isfinite(rate) && rate >= 0, "a learning rate must be finite and not negative");
  require(options.rise_steps <= options.total_steps, "rise_steps must not exceed total_steps");
  return [options](uint64_t step) {
    const auto between = [step](double from, double to, uint64_t begin, uint64_t end) {
      return std::lerp(from, to,
                       static_cast<double>(step - begin) / static_cast<double>(end - begin));
    };
    if (step < options.rise_steps)
      return between(options.initial_rate, options.peak_rate, 0, options.rise_steps);
    if (step < options.total_steps)
      return between(options.peak_rate, options.final_rate, options.rise_steps,
                     options.total_steps);
    return options.final_rate;
  };
}

}  // namespace recordpipe
