// Compares how a backend and the reference in double precision process gradients, update variables
// and average them.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"

namespace recordpipe {

// Sets the same random values in each slot on both sides, then applies the same operations. Most
// seeds freeze, multiply and clip some variables.
inline void compare_gradient_processing(Backend& backend, const Network& network, uint64_t seed) {
  SCOPED_TRACE(seed);
  Random random(derive_key(seed, 0), 0, 0);
  ReferenceBackend<double> reference;
  const auto got = backend.make_variables(network), expected = reference.make_variables(network);
  for (const auto& side : {got.get(), expected.get()}) side->start_averages();
  std::vector<VariableId> frozen;
  std::vector<double> multipliers(network.variables().size(), 1);
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    if (seed > 1 && random.below(4) == 0) frozen.push_back(id);
    if (random.below(4) == 0) multipliers[id] = 2 * static_cast<double>(random.uniform()) - 1;
    for (const Slot slot : {Slot::value, Slot::gradient, Slot::momentum, Slot::average}) {
      if (!spec.trained && slot != Slot::value) continue;
      std::vector<float> values(spec.size());
      for (float& value : values) value = 2 * random.uniform() - 1;
      got->write(id, values, slot);
      expected->write(id, values, slot);
    }
  }
  for (const auto& side : {got.get(), expected.get()}) {
    side->process_gradients({.weight_decay = 0.1,
                             .multipliers = multipliers,
                             .clip_norm = 3,
                             .clip_global_norm = seed % 2 == 0 ? 4.0 : 1e9,
                             .frozen = frozen});
    side->apply_momentum({.learning_rate = 0.1,
                          .momentum = 0.9,
                          .nesterov = seed % 2 == 0,
                          .weight_decay = 0,
                          .frozen = frozen});
    side->update_averages(0.9);
  }
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    EXPECT_NEAR(got->gradient_norms()[id], expected->gradient_norms()[id],
                1e-6 * expected->gradient_norms()[id])
        << spec.name;
    for (const Slot slot : {Slot::value, Slot::gradient, Slot::momentum, Slot::average}) {
      if (!spec.trained && slot != Slot::value) continue;
      const std::vector<float> a = got->read(id, slot), b = expected->read(id, slot);
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], 1e-6) << spec.name << "[" << i << "]";
    }
  }
}

}  // namespace recordpipe
