#include "trainer/backend/variables.h"

#include <cmath>
#include <string_view>

#include "dataset/base/philox.h"

namespace recordpipe {
namespace {

// FNV-1a. A variable's random numbers are keyed by its name, so that they stay the same when other
// variables come or go.
uint64_t hash(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return value;
}

std::vector<float> glorot_uniform(const VariableSpec& variable, uint64_t seed) {
  // [out][in] or [out][in][height][width].
  double receptive_field = 1;
  for (size_t axis = 2; axis < variable.shape.size(); ++axis)
    receptive_field *= static_cast<double>(variable.shape[axis]);
  const double fan_out = static_cast<double>(variable.shape[0]) * receptive_field;
  const double fan_in = static_cast<double>(variable.shape[1]) * receptive_field;
  const auto limit = static_cast<float>(std::sqrt(6 / (fan_in + fan_out)));

  std::vector<float> values(variable.size());
  Random random(derive_key(seed, hash(variable.name)), 0, 0);
  for (float& value : values) value = (2 * random.uniform() - 1) * limit;
  return values;
}

std::vector<float> initial_values(const VariableSpec& variable, uint64_t seed) {
  switch (variable.initializer) {
    case Initializer::glorot_uniform:
      return glorot_uniform(variable, seed);
    case Initializer::ones:
      return std::vector<float>(variable.size(), 1);
    case Initializer::zeros:
      break;
  }
  return std::vector<float>(variable.size(), 0);
}

}  // namespace

void initialize(Variables& variables, uint64_t seed) {
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    variables.write(id, initial_values(spec, seed));
    if (spec.trained) variables.write(id, std::vector<float>(spec.size(), 0), Slot::momentum);
  }
}

}  // namespace recordpipe
