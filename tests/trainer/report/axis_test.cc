#include "recordpipe/trainer/report/axis.h"

#include <limits>

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

using Ticks = std::vector<double>;

TEST(ValueAxis, GoesFromZeroToTheTickAboveTheGreatest) {
  const Axis axis = value_axis(0, 87.3);
  EXPECT_EQ(axis.low, 0);
  EXPECT_EQ(axis.high, 100);
  EXPECT_EQ(axis.ticks, (Ticks{0, 20, 40, 60, 80, 100}));
  EXPECT_DOUBLE_EQ(axis.place(50), 0.5);
}

TEST(ValueAxis, EndsAtAGreatestThatIsATick) {
  EXPECT_EQ(value_axis(0, 100).high, 100);
  EXPECT_DOUBLE_EQ(value_axis(0, 0.1).high, 0.1);
  EXPECT_EQ(value_axis(0, 0.1).ticks.size(), 6u);
}

TEST(ValueAxis, TakesNegativeValues) {
  const Axis axis = value_axis(-3, 5);
  EXPECT_EQ(axis.low, -4);
  EXPECT_EQ(axis.high, 6);
  EXPECT_EQ(axis.ticks, (Ticks{-4, -2, 0, 2, 4, 6}));
  EXPECT_EQ(value_axis(-2, -1).high, 0);
}

TEST(ValueAxis, HasALengthWhateverTheValues) {
  EXPECT_EQ(value_axis(0, 0).high, 1);
  for (const double greatest : {1e-300, 1e-90, 3e-7, 1.0, 7e20, 9.9e99}) {
    const Axis axis = value_axis(0, greatest);
    EXPECT_GE(axis.high, greatest);
    EXPECT_GT(axis.high, axis.low);
    EXPECT_GE(axis.ticks.size(), 2u) << greatest;
    EXPECT_LE(axis.ticks.size(), 8u) << greatest;
  }
}

TEST(StepAxis, EndsWhereTheStepsDo) {
  const Axis axis = step_axis(0, 4600);
  EXPECT_EQ(axis.high, 4600);
  EXPECT_EQ(axis.ticks, (Ticks{0, 1000, 2000, 3000, 4000}));
  EXPECT_EQ(step_axis(20010, 100000).ticks, (Ticks{40000, 60000, 80000, 100000}));
}

TEST(StepAxis, HasWholeSteps) {
  EXPECT_EQ(step_axis(0, 2).ticks, (Ticks{0, 1, 2}));
  EXPECT_EQ(step_axis(7, 7).ticks, (Ticks{7, 8}));
  EXPECT_EQ(step_axis(7, 7).place(7), 0);
  EXPECT_LT(step_axis(1e17, 1e17).ticks.size(), 20u) << "1e17 + 1 is 1e17";
}

TEST(ShortText, HasFourDigitsOrAllBeforeThePoint) {
  EXPECT_EQ(short_text(0), "0");
  EXPECT_EQ(short_text(0.25), "0.25");
  EXPECT_EQ(short_text(2.34567), "2.346");
  EXPECT_EQ(short_text(123456.7), "123457");
  EXPECT_EQ(short_text(-1500.2), "-1500");
  EXPECT_EQ(short_text(4.3e-8), "4.3e-08");
  EXPECT_EQ(short_text(2e15), "2e+15");
  EXPECT_EQ(short_text(0.1 + 0.2), "0.3");
}

TEST(Plottable, IsWhatIsFiniteAndNotEnormous) {
  EXPECT_TRUE(plottable(-1e99));
  EXPECT_FALSE(plottable(1e300));
  EXPECT_FALSE(plottable(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(plottable(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace
}  // namespace recordpipe
