// Errors keep their place in the order, whatever runs beside them.
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/pipeline/dataset.h"
#include "tests/pipeline/collect.h"

namespace recordpipe {
namespace {

int fail_at_137_and_later(int x) {
  if (x >= 137) throw std::runtime_error("element " + std::to_string(x));
  return x;
}

// How many elements came before the error, and its message.
template <class T>
std::pair<size_t, std::string> run(const Dataset<T>& dataset) {
  auto iterator = dataset.iterate();
  size_t delivered = 0;
  try {
    while (iterator.next()) ++delivered;
  } catch (const std::exception& error) {
    // Again at every further call.
    EXPECT_THROW(iterator.next(), std::exception);
    EXPECT_THROW(iterator.next(), std::exception);
    return {delivered, error.what()};
  }
  return {delivered, ""};
}

class Errors : public ::testing::TestWithParam<PipelineOptions> {
 protected:
  Dataset<int> failing() const {
    return from_vector(numbers(1000)).with_options(GetParam()).map(fail_at_137_and_later);
  }
};

TEST_P(Errors, OfAFunctionComeAfterTheElementsBeforeIt) {
  EXPECT_EQ(run(failing()), std::pair(size_t{137}, std::string("element 137")));
}

TEST_P(Errors, PassThroughFilterAndPrefetchInOrder) {
  const auto even = [](int x) { return x % 2 == 0; };
  EXPECT_EQ(run(failing().filter(even)), std::pair(size_t{69}, std::string("element 137")));
  EXPECT_EQ(run(failing().prefetch(5)), std::pair(size_t{137}, std::string("element 137")));
  EXPECT_EQ(run(failing().filter(even).shuffle(10, 1)),
            std::pair(size_t{69 - 10}, std::string("element 137")));
}

TEST_P(Errors, EndABatchThatCantBeFilled) {
  EXPECT_EQ(run(failing().batch(10)), std::pair(size_t{13}, std::string("element 137")));
  EXPECT_EQ(run(failing().filter([](int) { return true; }).batch(10)),
            std::pair(size_t{13}, std::string("element 137")));
}

TEST_P(Errors, OfAPredicateAreErrorsToo) {
  const auto predicate = [](int x) {
    if (x == 500) throw std::runtime_error("predicate");
    return true;
  };
  EXPECT_EQ(run(from_vector(numbers(1000)).with_options(GetParam()).filter(predicate)),
            std::pair(size_t{500}, std::string("predicate")));
}

TEST_P(Errors, OfACollatorComeAfterTheBatchesBeforeIt) {
  struct Fussy : VectorCollator<int> {
    void reset(std::vector<int>& batch, size_t rows) const {
      if (rows == 2) throw std::runtime_error("a short batch");
      batch.resize(rows);
    }
  };
  EXPECT_EQ(
      run(from_vector(numbers(10)).with_options(GetParam()).batch(4, DropRemainder::no, Fussy{})),
      std::pair(size_t{2}, std::string("a short batch")));
}

TEST_P(Errors, BeyondWhatIsTakenDoNotMatter) {
  EXPECT_EQ(run(failing().take(137)), std::pair(size_t{137}, std::string()));
}

INSTANTIATE_TEST_SUITE_P(Options, Errors,
                         ::testing::Values(PipelineOptions{.threads = 1, .chunk_size = 64},
                                           PipelineOptions{.threads = 1, .chunk_size = 1},
                                           PipelineOptions{.threads = 2, .chunk_size = 10},
                                           PipelineOptions{.threads = 4, .chunk_size = 1000},
                                           PipelineOptions{.threads = 16, .chunk_size = 3}));

}  // namespace
}  // namespace recordpipe
