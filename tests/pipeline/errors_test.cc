// Tests that errors keep their position in the order, whatever runs concurrently.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "tests/pipeline/collect.h"

namespace recordpipe {
namespace {

int fail_at_137_and_later(int x) {
  if (x >= 137) throw std::runtime_error("element " + std::to_string(x));
  return x;
}

// Returns the number of elements before the error, and the error's message.
template <class T>
std::pair<size_t, std::string> run(const Dataset<T>& dataset) {
  auto iterator = dataset.iterate();
  size_t delivered = 0;
  try {
    while (iterator.next()) ++delivered;
  } catch (const std::exception& error) {
    // The error is sticky.
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

TEST_P(Errors, OfACopyComeAfterTheElementsBeforeIt) {
  struct Fussy {
    int value = 0;
    explicit Fussy(int x = 0) : value(x) {}
    Fussy(const Fussy&) = default;
    Fussy& operator=(const Fussy& other) {
      value = fail_at_137_and_later(other.value);
      return *this;
    }
  };
  std::vector<Fussy> values;
  for (const int x : numbers(200)) values.emplace_back(x);
  EXPECT_EQ(run(from_vector(std::move(values)).with_options(GetParam())),
            std::pair(size_t{137}, std::string("element 137")));
}

TEST_P(Errors, PassThroughFilterAndPrefetchInOrder) {
  const auto even = [](int x) { return x % 2 == 0; };
  EXPECT_EQ(run(failing().filter(even)), std::pair(size_t{69}, std::string("element 137")));
  EXPECT_EQ(run(failing().prefetch(5)), std::pair(size_t{137}, std::string("element 137")));
}

// What the element that fails would have yielded is lost, so skip() yields it, before the later
// error.
TEST_P(Errors, OfALostSourceComeBeforeTheNextOneBehindSkip) {
  const auto source = from_generator([] {
    return [next = 0]() mutable -> std::optional<int> {
      if (next == 20) throw std::runtime_error("the source failed");
      return next++;
    };
  });
  const auto alone = [](int x) {
    if (x == 3) throw std::runtime_error("element 3");
    return std::vector{x};
  };
  EXPECT_EQ(run(source.with_options(GetParam()).flat_map(alone).skip(100)),
            std::pair(size_t{0}, std::string("element 3")));
}

TEST_P(Errors, AreShuffledLikeElements) {
  const auto odd_only = [](int x) {
    if (x % 2 == 0) throw std::runtime_error("element " + std::to_string(x));
    return x;
  };
  const auto all = [](int) { return true; };
  const auto source = from_vector(numbers(40)).with_options(GetParam());
  // The position of the first even number in the shuffled order.
  const auto good = collect(source.shuffle(40, 2));
  const size_t first = static_cast<size_t>(
      std::ranges::find_if(good, [](int x) { return x % 2 == 0; }) - good.begin());
  ASSERT_GT(first, 0u);
  const std::pair expected(first, "element " + std::to_string(good[first]));
  EXPECT_EQ(run(source.shuffle(40, 2).map(odd_only)), expected);
  EXPECT_EQ(run(source.map(odd_only).filter(all).shuffle(40, 2)), expected);
  EXPECT_EQ(run(source.map(odd_only).prefetch(3).shuffle(40, 2)), expected);
}

TEST_P(Errors, PassThroughFlatMapInOrder) {
  const auto twice = [](int x) { return std::vector<int>{x, x}; };
  const auto expected = std::pair(size_t{2 * 137}, std::string("element 137"));
  EXPECT_EQ(run(failing().flat_map(twice)), expected);
  EXPECT_EQ(run(failing().batch(1).unbatch().flat_map(twice)), expected);
  const auto fails = [](int x) -> std::vector<int> {
    if (x == 3) throw std::runtime_error("three");
    return {x, x};
  };
  EXPECT_EQ(run(from_vector(numbers(10)).with_options(GetParam()).flat_map(fails)),
            std::pair(size_t{6}, std::string("three")));
}

TEST_P(Errors, AreForgottenByARestore) {
  const auto dataset = failing().batch(7).prefetch(2);
  auto iterator = dataset.iterate();
  const std::string start = iterator.state();
  for (int life = 0; life < 3; ++life) {
    iterator.restore(start);
    for (int i = 0; i < 137 / 7; ++i) ASSERT_NE(iterator.next(), nullptr);
    EXPECT_THROW(iterator.next(), std::runtime_error);
  }
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

TEST(LongChains, RunUpToALimitAndAreRefusedBeyondIt) {
  Dataset<int> chain = from_vector(numbers(3));
  for (size_t i = 1; i < 2000; ++i) chain = chain.skip(0);
  EXPECT_EQ(run(chain), std::pair(size_t{3}, std::string()));
  for (size_t i = 2000; i < 4096; ++i) chain = chain.skip(0);
  try {
    (void)chain.skip(0);
    FAIL() << "one operator too many";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("4096 operators in a row"));
  }
}

}  // namespace
}  // namespace recordpipe
