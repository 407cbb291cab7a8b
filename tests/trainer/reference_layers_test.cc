// The reference's layers against numbers worked out by hand. Finite differences show that a
// gradient fits its forward pass, but not that the forward pass is the right one.
#include <cmath>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/backend/reference/conv2d.h"
#include "trainer/backend/reference/dense.h"
#include "trainer/backend/reference/global_average_pool.h"
#include "trainer/backend/reference/pool_and_pad.h"
#include "trainer/backend/reference/softmax_cross_entropy.h"

namespace recordpipe::reference {
namespace {

using testing::ElementsAre;
using Numbers = std::vector<double>;

// The kernel isn't mirrored, and is zero-padded on all sides.
TEST(ReferenceLayers, Conv2dIsCrossCorrelation) {
  const Numbers x = {1, 2,  //
                     3, 4};
  const Numbers w = {1,   10,   0,    //
                     100, 1000, 1e4,  //
                     0,   1e5,  1e6};
  Numbers y(4);
  conv2d_forward<double>({1, {1, 2, 2}, {1, 2, 2}, 3, 1, 1}, x, w, y);
  EXPECT_THAT(y, ElementsAre(1000 * 1 + 1e4 * 2 + 1e5 * 3 + 1e6 * 4,  //
                             100 * 1 + 1000 * 2 + 1e5 * 4,            //
                             10 * 1 + 1000 * 3 + 1e4 * 4,             //
                             1 * 1 + 10 * 2 + 100 * 3 + 1000 * 4));
}

// With stride 2 and one row of padding, the windows lie about pixels 0 and 2 of four.
TEST(ReferenceLayers, Conv2dStridesFromTheFirstPixel) {
  Numbers x(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  Numbers w(9, 0);
  w[4] = 1;  // the middle
  Numbers y(4);
  conv2d_forward<double>({1, {1, 4, 4}, {1, 2, 2}, 3, 2, 1}, x, w, y);
  EXPECT_THAT(y, ElementsAre(0, 2, 8, 10));
}

TEST(ReferenceLayers, Conv2dAddsUpInputChannelsForEachOutputChannel) {
  const Numbers x = {1, 2,    // channel 0
                     3, 4};   // channel 1
  const Numbers w = {1, 10,   // to channel 0
                     2, 20};  // to channel 1
  Numbers y(4);
  conv2d_forward<double>({1, {2, 1, 2}, {2, 1, 2}, 1, 1, 0}, x, w, y);
  EXPECT_THAT(y, ElementsAre(31, 42, 62, 84));
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

// Logits that are logarithms of probabilities, moved by a constant, which changes nothing.
TEST(ReferenceLayers, SoftmaxCrossEntropyIsTheMeanOfMinusLogP) {
  const Numbers logits = {std::log(0.5) + 7,    std::log(0.25) + 7,   std::log(0.25) + 7,
                          std::log(0.2) - 1000, std::log(0.7) - 1000, std::log(0.1) - 1000};
  const std::vector<int32_t> labels = {1, 1};
  Numbers gradient(6);
  const LossResult result = softmax_cross_entropy<double>(3, 0, logits, labels, gradient);
  EXPECT_NEAR(result.loss, -(std::log(0.25) + std::log(0.7)) / 2, 1e-12);
  EXPECT_EQ(result.correct, 1u);
  const Numbers expected = {0.25, -0.375, 0.125, 0.1, -0.15, 0.05};
  EXPECT_THAT(gradient, testing::Pointwise(testing::DoubleNear(1e-12), expected));
}

// With s = 0.3 and three classes the targets are 0.8 and twice 0.1.
TEST(ReferenceLayers, LabelSmoothingSpreadsTheTarget) {
  const Numbers logits = {std::log(0.5), std::log(0.25), std::log(0.25)};
  Numbers gradient(3);
  const LossResult result =
      softmax_cross_entropy<double>(3, 0.3, logits, std::vector<int32_t>{0}, gradient);
  EXPECT_NEAR(result.loss, -(0.8 * std::log(0.5) + 0.2 * std::log(0.25)), 1e-12);
  EXPECT_THAT(gradient, testing::Pointwise(testing::DoubleNear(1e-12), Numbers{-0.3, 0.15, 0.15}));
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
