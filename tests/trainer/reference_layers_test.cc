// Compares the reference's layers with values computed by hand. Finite differences show that a
// gradient matches its forward pass, but not that the forward pass is right.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/backend/reference/conv2d.h"
#include "trainer/backend/reference/dense.h"
#include "trainer/backend/reference/global_average_pool.h"
#include "trainer/backend/reference/local_response_norm.h"
#include "trainer/backend/reference/max_pool.h"
#include "trainer/backend/reference/pool_and_pad.h"
#include "trainer/backend/reference/relu.h"
#include "trainer/backend/reference/softmax_cross_entropy.h"

namespace recordpipe::reference {
namespace {

using testing::ElementsAre;
using Numbers = std::vector<double>;

testing::Matcher<const Numbers&> are_near(const Numbers& expected) {
  return testing::Pointwise(testing::DoubleNear(1e-12), expected);
}

// The kernel isn't mirrored. The input is zero-padded on all sides.
TEST(ReferenceLayers, Conv2dIsCrossCorrelation) {
  const Numbers x = {1, 2,  //
                     3, 4};
  const Numbers w = {1,   10,   0,    //
                     100, 1000, 1e4,  //
                     0,   1e5,  1e6};
  Numbers y(4);
  conv2d_forward<double>({1, {1, 2, 2}, {1, 2, 2}, 3, 1, 1}, x, w, {}, y);
  EXPECT_THAT(y, ElementsAre(1000 * 1 + 1e4 * 2 + 1e5 * 3 + 1e6 * 4,  //
                             100 * 1 + 1000 * 2 + 1e5 * 4,            //
                             10 * 1 + 1000 * 3 + 1e4 * 4,             //
                             1 * 1 + 10 * 2 + 100 * 3 + 1000 * 4));
}

// With stride 2 and one row of padding, the windows are centred at pixels 0 and 2 of four.
TEST(ReferenceLayers, Conv2dStridesFromTheFirstPixel) {
  Numbers x(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  Numbers w(9, 0);
  w[4] = 1;  // the middle
  Numbers y(4);
  conv2d_forward<double>({1, {1, 4, 4}, {1, 2, 2}, 3, 2, 1}, x, w, {}, y);
  EXPECT_THAT(y, ElementsAre(0, 2, 8, 10));
}

TEST(ReferenceLayers, Conv2dAddsUpInputChannelsForEachOutputChannel) {
  const Numbers x = {1, 2,    // channel 0
                     3, 4};   // channel 1
  const Numbers w = {1, 10,   // to channel 0
                     2, 20};  // to channel 1
  Numbers y(4);
  conv2d_forward<double>({1, {2, 1, 2}, {2, 1, 2}, 1, 1, 0}, x, w, {}, y);
  EXPECT_THAT(y, ElementsAre(31, 42, 62, 84));
}

TEST(ReferenceLayers, Conv2dAddsABiasToEachOutputChannel) {
  const Numbers x = {1, 2,   // image 0
                     3, 4};  // image 1
  const Numbers w = {10, 20}, bias = {5, -7};
  Numbers y(8), dbias(2, 99);
  const Conv2dShape shape = {2, {1, 1, 2}, {2, 1, 2}, 1, 1, 0};
  conv2d_forward<double>(shape, x, w, bias, y);
  EXPECT_THAT(y, ElementsAre(15, 25, 13, 33, 35, 45, 53, 73));
  conv2d_backward_bias<double>(shape, Numbers{1, 2, 3, 4, 10, 20, 30, 40}, dbias);
  EXPECT_THAT(dbias, ElementsAre(33, 77));
}

TEST(ReferenceLayers, ReluCutsNegativeValuesAndTheirGradientsOff) {
  Numbers y = {-2, 0, 3}, dy = {10, 20, 30};
  relu_forward<double>(y);
  EXPECT_THAT(y, ElementsAre(0, 0, 3));
  relu_backward<double>(y, dy);
  EXPECT_THAT(dy, ElementsAre(0, 0, 30));
}

// Windows of 3x3 pixels with stride 2. The last windows extend beyond the right and lower edges.
TEST(ReferenceLayers, MaxPoolTakesTheGreatestOfEachWindow) {
  const Numbers x = {1,  2,  3,  4,   //
                     5,  9,  7,  8,   //
                     6,  10, -1, -2,  //
                     -5, -6, -7, -8};
  const MaxPoolShape shape = {1, {1, 4, 4}, {1, 2, 2}, 3, 2, 0, 0};
  Numbers y(4), dx(16, 1000);
  max_pool_forward<double>(shape, x, y);
  EXPECT_THAT(y, ElementsAre(10, 8, 10, -1)) << "pixels outside are not zeros";
  max_pool_backward<double>(shape, x, Numbers{1, 2, 3, 4}, dx);
  EXPECT_THAT(dx, ElementsAre(1000, 1000, 1000, 1000,  //
                              1000, 1000, 1000, 1002,  //
                              1000, 1004, 1004, 1000,  //
                              1000, 1000, 1000, 1000));
}

TEST(ReferenceLayers, MaxPoolMayStartOutsideTheImage) {
  const Numbers x = {1, 2, 3,  //
                     4, 5, 6};
  Numbers y(2);
  max_pool_forward<double>({1, {1, 2, 3}, {1, 1, 2}, 3, 2, 1, 1}, x, y);
  EXPECT_THAT(y, ElementsAre(5, 6));
}

TEST(ReferenceLayers, OfEqualValuesInAWindowTheFirstHasTheGradient) {
  const Numbers x = {0, 7, 7, 7};
  Numbers dx(4);
  max_pool_backward<double>({1, {1, 2, 2}, {1, 1, 1}, 2, 2, 0, 0}, x, Numbers{5}, dx);
  EXPECT_THAT(dx, ElementsAre(0, 5, 0, 0));
}

// Three channels, each normalised with its neighbours: d = 1 + ½ (1 + 4), 1 + ½ (1 + 4 + 9), 1 + ½
// (4 + 9).
TEST(ReferenceLayers, LocalResponseNormDividesByTheNeighboursSquares) {
  const Numbers x = {1, 2, 3};
  Numbers y(3), dx(3, 10);
  const LocalResponseNormShape shape = {1, 3, 1, 1, 1, 0.5, 1};
  local_response_norm_forward<double>(shape, x, y);
  EXPECT_THAT(y, are_near({1 / 3.5, 2 / 8.0, 3 / 7.5}));
  // y(0) = x(0) / d(0): its derivatives are (d - x(0)²) / d² and -x(0) x(1) / d².
  local_response_norm_backward<double>(shape, x, Numbers{1, 0, 0}, dx);
  EXPECT_THAT(dx, are_near({10 + 2.5 / 12.25, 10 - 2 / 12.25, 10}));
}

// With the tutorial's constants and sixteen channels, a window covers nine channels, but only five
// at the first and the last channel.
TEST(ReferenceLayers, LocalResponseNormsWindowEndsWithTheChannels) {
  const size_t pixels = 2;
  Numbers x(16 * pixels), y(x.size());
  for (size_t c = 0; c < 16; ++c) x[c * pixels + 1] = 3;  // pixel 0 stays zero
  local_response_norm_forward<double>({1, 16, pixels, 4, 1, 0.001 / 9, 0.75}, x, y);
  for (size_t c = 0; c < 16; ++c) {
    const size_t neighbours = std::min({size_t{9}, c + 5, 16 - c + 4});
    EXPECT_EQ(y[c * pixels], 0);
    EXPECT_NEAR(y[c * pixels + 1], 3 / std::pow(1 + 0.001 * static_cast<double>(neighbours), 0.75),
                1e-12)
        << c;
  }
}

TEST(ReferenceLayers, PoolAndPadAveragesThenAddsZerosOnBothSides) {
  const Numbers x = {1, 3, 10, 20,  //
                     5, 7, 30, 40,  // channel 0
                     0, 0, 4,  4,   //
                     0, 8, 4,  4};  // channel 1
  Numbers y(12, -1);
  pool_and_pad_forward<double>({1, {2, 2, 4}, {6, 1, 2}, 2}, x, y);
  EXPECT_THAT(y, ElementsAre(0, 0, 0, 0, 4, 25, 2, 4, 0, 0, 0, 0));
}

TEST(ReferenceLayers, GlobalAveragePoolIsTheMeanOfEachChannel) {
  const Numbers x = {1, 2, 6, 10, 20, 60};
  Numbers y(2);
  global_average_pool_forward<double>(3, x, y);
  EXPECT_THAT(y, ElementsAre(3, 30));
}

TEST(ReferenceLayers, DenseIsWeightsTimesInputPlusBias) {
  const Numbers x = {1, 2,   // image 0
                     3, 4};  // image 1
  const Numbers w = {1, 10,  //
                     2, 20,  //
                     3, 30};
  const Numbers bias = {100, 200, 300};
  Numbers y(6);
  dense_forward<double>({2, 2, 3}, x, w, bias, y);
  EXPECT_THAT(y, ElementsAre(121, 242, 363, 143, 286, 429));
}

// Logits are logarithms of probabilities, shifted by a constant, which has no effect.
TEST(ReferenceLayers, SoftmaxCrossEntropyIsTheMeanOfMinusLogP) {
  const Numbers logits = {std::log(0.5) + 7,    std::log(0.25) + 7,   std::log(0.25) + 7,
                          std::log(0.2) - 1000, std::log(0.7) - 1000, std::log(0.1) - 1000};
  const std::vector<int32_t> labels = {1, 1};
  Numbers gradient(6);
  const LossResult result = softmax_cross_entropy<double>(3, 0, logits, labels, gradient);
  EXPECT_NEAR(result.loss, -(std::log(0.25) + std::log(0.7)) / 2, 1e-12);
  EXPECT_EQ(result.correct, 1u);
  const Numbers expected = {0.25, -0.375, 0.125, 0.1, -0.15, 0.05};
  EXPECT_THAT(gradient, are_near(expected));
}

// With s = 0.3 and three classes, the targets are 0.8, 0.1 and 0.1.
TEST(ReferenceLayers, LabelSmoothingSpreadsTheTarget) {
  const Numbers logits = {std::log(0.5), std::log(0.25), std::log(0.25)};
  Numbers gradient(3);
  const LossResult result =
      softmax_cross_entropy<double>(3, 0.3, logits, std::vector<int32_t>{0}, gradient);
  EXPECT_NEAR(result.loss, -(0.8 * std::log(0.5) + 0.2 * std::log(0.25)), 1e-12);
  EXPECT_THAT(gradient, are_near({-0.3, 0.15, 0.15}));
}

TEST(ReferenceLayers, OfEqualLogitsTheFirstIsTheAnswer) {
  const Numbers logits = {1, 1, 0};
  Numbers gradient(3);
  for (const int32_t label : {0, 1, 2})
    EXPECT_EQ(
        softmax_cross_entropy<double>(3, 0, logits, std::vector<int32_t>{label}, gradient).correct,
        label == 0 ? 1u : 0u);
}

}  // namespace
}  // namespace recordpipe::reference
