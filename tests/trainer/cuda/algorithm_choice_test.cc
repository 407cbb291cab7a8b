// Tests the choice among the algorithms that cuDNN and cuBLASLt list.
#include "trainer/backend/cuda/libraries/algorithm_choice.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"

namespace recordpipe::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Tries offers, of which some can't be run.
struct Trial {
  std::vector<size_t> broken = {};
  std::vector<double> microseconds = {};  // of each; empty: not measured
  std::vector<size_t> tried = {};

  size_t choose(const std::vector<AlgorithmOffer>& offers, const AlgorithmLimits& limits) {
    const auto run = [this](size_t index) -> AlgorithmTrial {
      tried.push_back(index);
      if (std::ranges::count(broken, index) > 0) return {.problem = "doesn't run"};
      return {.microseconds = microseconds.empty() ? 0 : microseconds[index]};
    };
    return choose_algorithm("a convolution", offers, limits, !microseconds.empty(), run);
  }
};

TEST(AlgorithmChoice, TakesTheFirstThatRuns) {
  Trial trial{.broken = {0, 1}};
  EXPECT_EQ(trial.choose({{"a"}, {"b"}, {"c"}, {"d"}}, {}), 2u);
  EXPECT_THAT(trial.tried, ElementsAre(0, 1, 2));
}

TEST(AlgorithmChoice, TakesTheFastestByMeasurement) {
  Trial trial{.broken = {1}, .microseconds = {3, 1, 2, 2, 4}};
  EXPECT_EQ(trial.choose({{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}, {}), 2u);
  EXPECT_THAT(trial.tried, ElementsAre(0, 1, 2, 3, 4));
  trial = {.microseconds = {3, 1}};
  EXPECT_EQ(trial.choose({{"a"}, {.name = "b", .deterministic = false}}, {}), 0u);
}

// Even if it is the fastest, or the only one.
TEST(AlgorithmChoice, TakesNoneThatIsNotDeterministic) {
  Trial trial;
  EXPECT_EQ(trial.choose({{.name = "fast", .deterministic = false}, {.name = "slow"}}, {}), 1u);
  EXPECT_THAT(trial.tried, ElementsAre(1));
  const Error error =
      error_of([] { Trial().choose({{.name = "the only one", .deterministic = false}}, {}); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.reason(), HasSubstr("no algorithm for a convolution; the only one: not "
                                        "deterministic"));
}

TEST(AlgorithmChoice, StaysWithinTheLimits) {
  const std::vector<AlgorithmOffer> offers = {{.name = "refused", .problem = "not supported"},
                                              {.name = "large", .workspace_bytes = 101},
                                              {.name = "tensor cores", .tensor_cores = true},
                                              {.name = "plain", .workspace_bytes = 100}};
  Trial trial;
  EXPECT_EQ(trial.choose(offers, {.tensor_cores = true, .workspace_bytes = 100}), 2u);
  EXPECT_EQ(trial.choose(offers, {.tensor_cores = false, .workspace_bytes = 100}), 3u);
  EXPECT_THAT(trial.tried, ElementsAre(2, 3));
  const Error error =
      error_of([&] { Trial().choose(offers, {.tensor_cores = false, .workspace_bytes = 99}); });
  EXPECT_THAT(error.reason(),
              HasSubstr("refused: not supported; large: needs a workspace of 101 bytes; tensor "
                        "cores: uses tensor cores; plain: needs a workspace of 100 bytes"));
}

TEST(AlgorithmChoice, SaysThatThereIsNone) {
  EXPECT_THAT(error_of([] { Trial().choose({}, {}); }).reason(), HasSubstr("none is listed"));
}

}  // namespace
}  // namespace recordpipe::cuda
