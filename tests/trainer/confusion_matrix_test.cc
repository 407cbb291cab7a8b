#include "recordpipe/trainer/training/confusion_matrix.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

void add(ConfusionMatrix& matrix, size_t label, size_t prediction, int times) {
  for (int i = 0; i < times; ++i) matrix.add(label, prediction);
}

// Returns a matrix in which two of four classes are used.
ConfusionMatrix cats_and_dogs() {
  ConfusionMatrix matrix(4);
  add(matrix, 0, 0, 7);
  add(matrix, 0, 1, 3);
  add(matrix, 1, 0, 1);
  add(matrix, 1, 1, 4);
  return matrix;
}

TEST(ConfusionMatrix, CountsByLabelAndPrediction) {
  const ConfusionMatrix matrix = cats_and_dogs();
  EXPECT_EQ(matrix.count(0, 1), 3u);
  EXPECT_EQ(matrix.count(1, 0), 1u);
  EXPECT_EQ(matrix.images(0), 10u);
  EXPECT_EQ(matrix.predictions(0), 8u);
  EXPECT_EQ(matrix.images(), 15u);
  EXPECT_EQ(matrix.correct(), 11u);
  EXPECT_DOUBLE_EQ(matrix.recall(0).value(), 0.7);
  EXPECT_DOUBLE_EQ(matrix.precision(0).value(), 7.0 / 8);
  EXPECT_DOUBLE_EQ(matrix.recall(1).value(), 0.8);
  EXPECT_DOUBLE_EQ(matrix.precision(1).value(), 4.0 / 7);
}

TEST(ConfusionMatrix, HasNoSharesOfNothing) {
  ConfusionMatrix matrix(3);
  matrix.add(0, 1);
  EXPECT_EQ(matrix.recall(1), std::nullopt);
  EXPECT_EQ(matrix.precision(0), std::nullopt);
  EXPECT_EQ(matrix.recall(0), 0.0);
  EXPECT_EQ(matrix.precision(1), 0.0);
}

TEST(ConfusionMatrix, RefusesWhatIsNoClass) {
  ConfusionMatrix matrix(3);
  EXPECT_THROW(matrix.add(0, 3), std::out_of_range);
  EXPECT_THROW(matrix.add(3, 0), std::out_of_range);
  EXPECT_THROW(matrix.count(0, 3), std::out_of_range);
}

TEST(ConfusionMatrix, ShowsClassesWithANameOrImagesOrPredictions) {
  EXPECT_EQ(shown_classes(cats_and_dogs(), 0), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(shown_classes(cats_and_dogs(), 3), (std::vector<size_t>{0, 1, 2}));
  ConfusionMatrix matrix(4);
  matrix.add(1, 3);
  EXPECT_EQ(shown_classes(matrix, 0), (std::vector<size_t>{1, 3}));
  EXPECT_EQ(shown_classes(ConfusionMatrix(), 10), std::vector<size_t>());
}

TEST(ConfusionMatrix, IsATableInText) {
  const std::vector<std::string> names = {"cat", "dog", "bird"};
  EXPECT_EQ(confusion_text(cats_and_dogs(), names),
            "             0    1    2  accuracy\n"
            "0 cat        7    3    0     70.0%\n"
            "1 dog        1    4    0     80.0%\n"
            "2 bird       0    0    0         -\n"
            "precision  88%  57%    -\n");
}

// The columns grow with the counts.
TEST(ConfusionMatrix, KeepsItsColumnsApart) {
  ConfusionMatrix matrix(2);
  add(matrix, 1, 1, 123456);
  EXPECT_EQ(confusion_text(matrix, {}),
            "               1  accuracy\n"
            "1         123456    100.0%\n"
            "precision   100%\n");
  EXPECT_EQ(confusion_text(ConfusionMatrix(2), {}), "");
}

}  // namespace
}  // namespace recordpipe
