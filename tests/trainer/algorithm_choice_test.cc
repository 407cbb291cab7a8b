// Tests the choice among the algorithms that cuDNN and cuBLASLt list.
#include "trainer/backend/cuda/algorithm_choice.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/error.h"
#include "tests/support/expect_error.h"

namespace recordpipe::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Tries offers, of which some can't be run.
struct Trial {
  std::vector<size_t> broken = {};
  std::vector<size_t> tried = {};

  size_t choose(const std::vector<AlgorithmOffer>& offers, const AlgorithmLimits& limits) {
    return choose_algorithm("a convolution", offers, limits, [this](size_t index) {
      tried.push_back(index);
      return std::ranges::count(broken, index) > 0 ? "doesn't run" : "";
    });
  }
};

TEST(AlgorithmChoice, TakesTheFirstThatRuns) {
  Trial trial{.broken = {0, 1}};
  EXPECT_EQ(trial.choose({{"a"}, {"b"}, {"c"}, {"d"}}, {}), 2u);
  EXPECT_THAT(trial.tried, ElementsAre(0, 1, 2));
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
