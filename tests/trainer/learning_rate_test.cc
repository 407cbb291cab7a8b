#include "trainer/optimizer/learning_rate.h"

#include <gtest/gtest.h>

#include "dataset/base/error.h"

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

}  // namespace
}  // namespace recordpipe
