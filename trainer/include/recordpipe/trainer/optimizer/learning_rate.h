// The learning rate of each step.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace recordpipe {

// The learning rate of the step that follows `step` completed steps: f(0) is that of the first
// one. (StepResult::step counts the step itself too.) A pure function, so that a resumed run
// continues with the same rates.
using LearningRateSchedule = std::function<double(uint64_t step)>;

// values[i] up to and including step boundaries[i], the last value after them (as TensorFlow's
// piecewise_constant). `boundaries` must ascend; `values` must have one element more.
LearningRateSchedule piecewise_constant(std::vector<uint64_t> boundaries,
                                        std::vector<double> values);

// The schedule of the ResNet tutorial: base_rate times 1, 0.1, 0.01 and 0.002, changing after 82,
// 123 and 300 epochs.
LearningRateSchedule tutorial_schedule(double base_rate, uint64_t steps_per_epoch);

// Linear warm-up from near zero to `peak` over the first `warmup_steps`, then half a cosine down to
// zero at `total_steps` (Loshchilov and Hutter 2016, https://arxiv.org/abs/1608.03983, without
// restarts).
LearningRateSchedule cosine_schedule(double peak, uint64_t warmup_steps, uint64_t total_steps);

struct ExponentialDecayOptions {
  double initial_rate = 0.1;
  double decay_rate = 0.1;  // the remaining fraction after decay_steps; above 0
  uint64_t decay_steps = 1;
  bool staircase = false;  // decays in steps, once every decay_steps, instead of continuously
};

// initial_rate · decay_rate ^ (step / decay_steps), the exponent rounded down if `staircase` (as
// TensorFlow's exponential_decay). Throws Error{invalid_argument} if decay_rate is not above 0 or
// decay_steps is 0.
LearningRateSchedule exponential_decay(const ExponentialDecayOptions& options);

struct TutorialCnnScheduleOptions {
  uint64_t train_images = 50'000;  // per epoch
  uint64_t batch_size = 128;
  uint64_t epochs_per_decay = 350;
  double initial_rate = 0.1;
  double decay_rate = 0.1;
};

// The schedule of the tutorial's CNN: a staircase that falls to a tenth every int(train_images /
// batch_size · epochs_per_decay) steps (default: 136,718). Throws Error{invalid_argument} if that
// is less than one step or overflows.
LearningRateSchedule tutorial_cnn_schedule(const TutorialCnnScheduleOptions& options = {});

struct OneCycleOptions {
  double initial_rate = 0.01;
  double peak_rate = 0.1;
  double final_rate = 0;
  uint64_t rise_steps = 0;   // from the initial rate to the peak; at most total_steps
  uint64_t total_steps = 1;  // of the whole cycle
};

// One cycle (Smith 2018, https://arxiv.org/abs/1803.09820, section 4.1): linear from the initial
// rate at step 0 to the peak at step rise_steps, then linear to the final rate at step total_steps,
// constant afterwards:
//
//   initial + (peak - initial) · step / rise_steps,
//   peak + (final - peak) · (step - rise_steps) / (total_steps - rise_steps),
//
// Smith's schedule falls to the initial rate first and far below it in a last part; a final rate of
// 0 joins both into one line. Smith also lowers the momentum while the rate rises; here it is
// constant. Throws Error{invalid_argument} for rates that are negative or not finite, and if the
// rise is longer than the cycle.
LearningRateSchedule one_cycle_schedule(const OneCycleOptions& options);

}  // namespace recordpipe
