#include "trainer/optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "dataset/base/error.h"

namespace recordpipe {

LearningRateSchedule piecewise_constant(std::vector<uint64_t> boundaries,
                                        std::vector<double> values) {
  if (values.size() != boundaries.size() + 1 ||
      !std::is_sorted(boundaries.begin(), boundaries.end()))
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "a piecewise schedule takes ascending boundaries and one value more"});
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

}  // namespace recordpipe
