// The learning rate of each step.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace recordpipe {

// The learning rate of step 0, 1, 2, ...: a pure function, so that a run that is resumed goes on
// as it would have.
using LearningRateSchedule = std::function<double(uint64_t step)>;

// values[i] up to and including step boundaries[i], the last value after them (as TensorFlow's
// piecewise_constant). There is one value more than there are boundaries, which ascend.
LearningRateSchedule piecewise_constant(std::vector<uint64_t> boundaries,
                                        std::vector<double> values);

// The schedule of the ResNet tutorial: base_rate times 1, 0.1, 0.01 and 0.002, changing after 82,
// 123 and 300 epochs.
LearningRateSchedule tutorial_schedule(double base_rate, uint64_t steps_per_epoch);

// A rise from near zero to `peak` over the first `warmup_steps`, then half a cosine down to zero at
// `total_steps` (Loshchilov and Hutter 2016, https://arxiv.org/abs/1608.03983, without restarts).
LearningRateSchedule cosine_schedule(double peak, uint64_t warmup_steps, uint64_t total_steps);

}  // namespace recordpipe
