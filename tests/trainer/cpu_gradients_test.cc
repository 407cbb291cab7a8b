// Tests how the CPU backend processes gradients in several threads.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/trainer/gradient_comparison.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

using Floats = std::vector<float>;

TEST(CpuGradients, AreProcessedAsTheReferences) {
  for (const Network& network : {resnet({.layers = 14, .input = {3, 8, 8}}), tutorial_cnn()})
    for (const size_t threads : {1u, 2u, 3u, 4u}) {
      CpuBackend backend({.threads = threads});
      compare_gradient_processing(backend, network, threads);
    }
}

// A gradient that overflows in float when it is multiplied must be detected.
TEST(CpuGradients, AreLookedAtAsTheyAreWhenMultiplied) {
  Network network({2, 1, 1});
  network.softmax_cross_entropy(network.dense(network.dense(0, "a", 2), "b", 1));
  const auto variables = CpuBackend().make_variables(network);
  variables->write(0, Floats{3e38f, 0, 0, 0}, Slot::gradient);
  const std::vector<double> multipliers = {2, 1, 1, 1};
  variables->process_gradients({.multipliers = multipliers});
  EXPECT_FALSE(std::isfinite(variables->gradient_norms()[0]));
}

// The results are the same bit for bit: sums don't depend on the thread that computes them.
TEST(CpuGradients, AreTheSameWithAnyNumberOfThreads) {
  const Network network = tutorial_cnn();
  std::vector<Floats> first;
  for (const size_t threads : {1u, 2u, 3u, 8u}) {
    CpuBackend backend({.threads = threads});
    const auto variables = backend.make_variables(network);
    randomize(*variables, 1);
    for (VariableId id = 0; id < network.variables().size(); ++id)
      variables->write(id, variables->read(id), Slot::gradient);
    variables->process_gradients({.weight_decay = 0.3, .clip_global_norm = 1});
    std::vector<Floats> all;
    for (VariableId id = 0; id < network.variables().size(); ++id)
      all.push_back(variables->read(id, Slot::gradient));
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << threads << " threads";
  }
}

}  // namespace
}  // namespace recordpipe
