// Compares a backend with the reference in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "tests/trainer/relative_error.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {

// Returns √(Σ difference² / Σ expected²). For low precision, where rounding may occasionally change
// the decision of a ReLU or a pooling and thereby redirect a gradient.
inline double mean_error(const std::vector<float>& got, const std::vector<float>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double squares = 0, differences = 0;
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    const double off = static_cast<double>(got[i]) - static_cast<double>(expected[i]);
    squares += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    differences += off * off;
  }
  return std::sqrt(squares == 0 ? differences : differences / squares);
}

// Tolerances for comparing a backend with the reference.
struct Closeness {
  double (*error)(const std::vector<float>& got, const std::vector<float>& expected);
  double outputs;    // of nodes, and of the loss
  double gradients;  // and of updated values
  // Whether the precision is high enough that both classify the same images correctly.
  bool same_classes;
};

// One side of a comparison: variables and a runner on a backend. Both sides start with the same
// values.
struct Side {
  Side(Backend& backend, const Network& network, const RunnerOptions& options)
      : variables(backend.make_variables(network)),
        runner(backend.make_runner(network, *variables, options)) {
    randomize(*variables, 3);
  }

  std::unique_ptr<Variables> variables;
  std::unique_ptr<Runner> runner;
};

// Makes steps on the backend and on the reference. Compares every node's output, the loss, every
// gradient, then every variable.
inline void compare_steps(Backend& backend, const Network& network, size_t images,
                          const Closeness& close, size_t steps = 1) {
  ReferenceBackend<double> reference_backend;
  Side own(backend, network, {.batch_size = images});
  Side reference(reference_backend, network, {.batch_size = images});
  const auto compare = [&](Slot slot, const char* what) {
    for (VariableId id = 0; id < network.variables().size(); ++id) {
      const VariableSpec& spec = network.variables()[id];
      if (slot != Slot::value && (!spec.trained || spec.rate_factor == 0)) continue;
      EXPECT_LE(close.error(own.variables->read(id, slot), reference.variables->read(id, slot)),
                close.gradients)
          << what << " of " << spec.name;
    }
  };
  for (size_t step = 0; step < steps; ++step) {
    SCOPED_TRACE(step);
    const ImageBatch batch = random_batch(network, images, 5 + step);
    own.runner->load(batch);
    reference.runner->load(batch);
    const BatchResult got = own.runner->forward(), expected = reference.runner->forward();
    EXPECT_NEAR(got.loss, expected.loss, close.outputs * std::max(1.0, expected.loss));
    // If two logits are almost equal, rounding decides.
    if (close.same_classes) {
      EXPECT_EQ(got.correct, expected.correct);
    }
    EXPECT_EQ(got.images, images);
    for (NodeId node = 0; node + 1 < network.nodes().size(); ++node)
      EXPECT_LE(close.error(own.runner->output(node), reference.runner->output(node)),
                close.outputs)
          << network.nodes()[node].name;

    own.runner->backward();
    reference.runner->backward();
    compare(Slot::gradient, "gradient");
    own.runner->update_statistics();
    reference.runner->update_statistics();
    own.variables->apply_momentum({.learning_rate = 0.05});
    reference.variables->apply_momentum({.learning_rate = 0.05});
    compare(Slot::value, "updated value");
    compare(Slot::momentum, "momentum");
  }
  EXPECT_NEAR(own.variables->half_squared_norm(), reference.variables->half_squared_norm(),
              (close.same_classes ? 1e-6 : close.gradients / 20) *
                  reference.variables->half_squared_norm());
}

// Compares inference on a full batch, then on an incomplete one.
inline void compare_inference(Backend& backend, const Network& network, const Closeness& close) {
  ReferenceBackend<double> reference_backend;
  const RunnerOptions options = {.batch_size = 4, .mode = Mode::inference};
  Side own(backend, network, options), reference(reference_backend, network, options);
  const NodeId logits = network.nodes().size() - 2;
  for (const size_t images : {4u, 3u}) {
    const ImageBatch batch = random_batch(network, images, images);
    own.runner->load(batch);
    reference.runner->load(batch);
    const BatchResult got = own.runner->forward(), expected = reference.runner->forward();
    EXPECT_NEAR(got.loss, expected.loss, close.outputs * std::max(1.0, expected.loss));
    if (close.same_classes) {
      EXPECT_EQ(got.correct, expected.correct);
    }
    EXPECT_EQ(got.images, images);
    EXPECT_LE(close.error(own.runner->output(logits), reference.runner->output(logits)),
              close.outputs);
  }
}

}  // namespace recordpipe
