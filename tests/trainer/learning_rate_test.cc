#include "recordpipe/trainer/optimizer/learning_rate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

TEST(PiecewiseConstant, ChangesAfterItsBoundaries) {
  const LearningRateSchedule rate = piecewise_constant({10, 20}, {1, 0.5, 0.25});
  EXPECT_EQ(rate(0), 1);
  EXPECT_EQ(rate(10), 1);
  EXPECT_EQ(rate(11), 0.5);
  EXPECT_EQ(rate(20), 0.5);
  EXPECT_EQ(rate(21), 0.25);
  EXPECT_EQ(rate(UINT64_MAX), 0.25);
}

TEST(PiecewiseConstant, RefusesWhatIsNoSchedule) {
  EXPECT_THROW(piecewise_constant({1}, {1}), Error);
  EXPECT_THROW(piecewise_constant({2, 1}, {1, 2, 3}), Error);
}

// 40,000 images in batches of 128.
TEST(TutorialSchedule, FollowsTheEpochs) {
  const LearningRateSchedule rate = tutorial_schedule(0.1, 312);
  EXPECT_DOUBLE_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(82 * 312), 0.1);
  EXPECT_DOUBLE_EQ(rate(82 * 312 + 1), 0.01);
  EXPECT_DOUBLE_EQ(rate(123 * 312 + 1), 0.001);
  EXPECT_DOUBLE_EQ(rate(300 * 312 + 1), 0.0002);
}

TEST(CosineSchedule, RisesThenFallsToZero) {
  const LearningRateSchedule rate = cosine_schedule(0.4, 4, 104);
  EXPECT_DOUBLE_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(3), 0.4);
  EXPECT_DOUBLE_EQ(rate(4), 0.4);
  EXPECT_NEAR(rate(54), 0.2, 1e-12);
  for (uint64_t step = 5; step < 104; ++step) EXPECT_LT(rate(step), rate(step - 1));
  EXPECT_GT(rate(103), 0);
  EXPECT_EQ(rate(104), 0);
  EXPECT_EQ(rate(1000), 0);
}

TEST(CosineSchedule, NeedsNoWarmup) {
  EXPECT_DOUBLE_EQ(cosine_schedule(0.4, 0, 10)(0), 0.4);
  EXPECT_DOUBLE_EQ(cosine_schedule(0.4, 20, 10)(9), 0.2) << "a run that ends within its warm-up";
}

// 0.5 · 0.81^½ = 0.45.
TEST(ExponentialDecay, FallsALittleEachStep) {
  const LearningRateSchedule rate =
      exponential_decay({.initial_rate = 0.5, .decay_rate = 0.81, .decay_steps = 10});
  EXPECT_DOUBLE_EQ(rate(0), 0.5);
  EXPECT_DOUBLE_EQ(rate(5), 0.45);
  EXPECT_DOUBLE_EQ(rate(10), 0.405);
  EXPECT_DOUBLE_EQ(rate(20), 0.32805);
  EXPECT_EQ(rate(UINT64_MAX), 0);
}

TEST(ExponentialDecay, FallsAtOnceOnAStaircase) {
  const LearningRateSchedule rate = exponential_decay(
      {.initial_rate = 0.5, .decay_rate = 0.81, .decay_steps = 10, .staircase = true});
  EXPECT_DOUBLE_EQ(rate(9), 0.5);
  EXPECT_DOUBLE_EQ(rate(10), 0.405);
  EXPECT_DOUBLE_EQ(rate(19), 0.405);
  EXPECT_DOUBLE_EQ(rate(20), 0.32805);
}

TEST(ExponentialDecay, RefusesWhatIsNoDecay) {
  EXPECT_THROW(exponential_decay({.decay_rate = 0}), Error);
  EXPECT_THROW(exponential_decay({.decay_rate = std::nan("")}), Error);
  EXPECT_THROW(exponential_decay({.decay_steps = 0}), Error);
}

// 50,000 / 128 · 350 = 136,718.75 steps.
TEST(TutorialCnnSchedule, FallsToATenthEvery350Epochs) {
  const LearningRateSchedule rate = tutorial_cnn_schedule();
  EXPECT_DOUBLE_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(136'717), 0.1);
  EXPECT_DOUBLE_EQ(rate(136'718), 0.01);
  EXPECT_DOUBLE_EQ(rate(2 * 136'718 - 1), 0.01);
  EXPECT_DOUBLE_EQ(rate(2 * 136'718), 0.001);
}

// 10 images in batches of 4, 3 epochs: 7.5 steps.
TEST(TutorialCnnSchedule, CountsTheImagesThatThereAre) {
  const LearningRateSchedule rate = tutorial_cnn_schedule({.train_images = 10,
                                                           .batch_size = 4,
                                                           .epochs_per_decay = 3,
                                                           .initial_rate = 8,
                                                           .decay_rate = 0.5});
  EXPECT_EQ(rate(6), 8);
  EXPECT_EQ(rate(7), 4);
  EXPECT_EQ(rate(14), 2);
  EXPECT_THROW(tutorial_cnn_schedule({.batch_size = 0}), Error);
  EXPECT_THROW(tutorial_cnn_schedule({.train_images = 0}), Error);
  EXPECT_THROW(tutorial_cnn_schedule({.epochs_per_decay = 0}), Error);
  EXPECT_THROW(tutorial_cnn_schedule({.epochs_per_decay = UINT64_MAX}), Error);
  EXPECT_THROW(tutorial_cnn_schedule({.batch_size = UINT64_MAX}), Error) << "no whole step";
}

TEST(OneCycleSchedule, RisesThenFalls) {
  const LearningRateSchedule rate = one_cycle_schedule({.initial_rate = 0.25,
                                                        .peak_rate = 1.25,
                                                        .final_rate = 0.125,
                                                        .rise_steps = 4,
                                                        .total_steps = 13});
  EXPECT_DOUBLE_EQ(rate(0), 0.25);
  EXPECT_DOUBLE_EQ(rate(1), 0.5);
  EXPECT_DOUBLE_EQ(rate(3), 1);
  EXPECT_DOUBLE_EQ(rate(4), 1.25);
  EXPECT_DOUBLE_EQ(rate(5), 1.125);
  EXPECT_DOUBLE_EQ(rate(12), 0.25);
  EXPECT_DOUBLE_EQ(rate(13), 0.125);
  EXPECT_DOUBLE_EQ(rate(UINT64_MAX), 0.125);
}

TEST(OneCycleSchedule, MayOnlyFallOrOnlyRise) {
  const LearningRateSchedule falling =
      one_cycle_schedule({.initial_rate = 9, .peak_rate = 1, .rise_steps = 0, .total_steps = 4});
  EXPECT_EQ(falling(0), 1);
  EXPECT_EQ(falling(3), 0.25);
  EXPECT_EQ(falling(4), 0);
  const LearningRateSchedule rising =
      one_cycle_schedule({.initial_rate = 0, .peak_rate = 1, .rise_steps = 4, .total_steps = 4});
  EXPECT_EQ(rising(3), 0.75);
  EXPECT_EQ(rising(4), 0) << "the final rate";
}

TEST(OneCycleSchedule, RefusesWhatIsNoCycle) {
  EXPECT_THROW(one_cycle_schedule({.rise_steps = 2, .total_steps = 1}), Error);
  EXPECT_THROW(one_cycle_schedule({.peak_rate = -1}), Error);
  EXPECT_THROW(one_cycle_schedule({.peak_rate = HUGE_VAL}), Error);
  EXPECT_THROW(one_cycle_schedule({.final_rate = std::nan("")}), Error);
}

}  // namespace
}  // namespace recordpipe
