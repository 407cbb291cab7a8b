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

struct ExponentialDecayOptions {
  double initial_rate = 0.1;
  double decay_rate = 0.1;  // what is left after decay_steps; above 0
  uint64_t decay_steps = 1;
  bool staircase = false;  // falls at once, every decay_steps, rather than a little each step
};

// initial_rate · decay_rate ^ (step / decay_steps), the exponent rounded down if `staircase` (as
// TensorFlow's exponential_decay). Throws Error{invalid_argument} for a decay rate that is not
// above 0 and for no decay steps.
LearningRateSchedule exponential_decay(const ExponentialDecayOptions& options);

struct TutorialCnnScheduleOptions {
  uint64_t train_images = 50'000;  // in an epoch
  uint64_t batch_size = 128;
  uint64_t epochs_per_decay = 350;
  double initial_rate = 0.1;
  double decay_rate = 0.1;
};

// The schedule of the tutorial's CNN: a staircase that falls to a tenth every
// int(train_images / batch_size · epochs_per_decay) steps: 136,718 by default. Throws
// Error{invalid_argument} where that is less than one step, or more than a number can hold.
LearningRateSchedule tutorial_cnn_schedule(const TutorialCnnScheduleOptions& options = {});

struct OneCycleOptions {
  double initial_rate = 0.01;
  double peak_rate = 0.1;
  double final_rate = 0;
  uint64_t rise_steps = 0;   // from the initial rate to the peak, at most total_steps
  uint64_t total_steps = 1;  // of the whole cycle
};

// One cycle (Smith 2018, https://arxiv.org/abs/1803.09820, section 4.1): straight up from the
// initial rate at step 0 to the peak at step rise_steps, straight down to the final rate at step
// total_steps, which stays,
//
//   initial + (peak - initial) · step / rise_steps,
//   peak + (final - peak) · (step - rise_steps) / (total_steps - rise_steps),
//
// Smith's falls to the initial rate first, and in a last part far below it; a final rate of 0 makes
// one line of both. The momentum, which Smith lets fall while the rate rises, stays. Throws
// Error{invalid_argument} for rates that are negative or not finite and for a rise that is longer
// than the cycle.
LearningRateSchedule one_cycle_schedule(const OneCycleOptions& options);

}  // namespace recordpipe
