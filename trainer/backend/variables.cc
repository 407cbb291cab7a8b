#include "recordpipe/trainer/backend/variables.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <variant>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"

namespace recordpipe {
namespace {

// FNV-1a. A variable's random numbers are keyed by its name, so they don't change when other
// variables are added or removed.
uint64_t hash(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return value;
}

// Epoch and index, by which the input pipeline draws for each image of each epoch, aren't needed.
Random random_of(const VariableSpec& variable, uint64_t seed) {
  return {derive_key(seed, hash(variable.name)), /*epoch=*/0, /*index=*/0};
}

// Of [out][in] or [out][in][height][width].
struct Fans {
  double in, out;
};
Fans fans_of(const VariableSpec& variable) {
  double receptive_field = 1;
  for (size_t axis = 2; axis < variable.shape.size(); ++axis)
    receptive_field *= static_cast<double>(variable.shape[axis]);
  return {.in = static_cast<double>(variable.shape[1]) * receptive_field,
          .out = static_cast<double>(variable.shape[0]) * receptive_field};
}

std::vector<float> uniform(const VariableSpec& variable, double greatest, uint64_t seed) {
  const auto limit = static_cast<float>(greatest);
  std::vector<float> values(variable.size());
  Random random = random_of(variable, seed);
  for (float& value : values) value = (2 * random.uniform() - 1) * limit;
  return values;
}

std::vector<float> dirac(const VariableSpec& variable, uint64_t seed) {
  const size_t in = variable.shape.at(1), height = variable.shape.at(2),
               width = variable.shape.at(3);
  std::vector<float> values = uniform(variable, 1 / std::sqrt(fans_of(variable).in), seed);
  const size_t filter = in * height * width;
  for (size_t o = 0; o < std::min(in, variable.shape[0]); ++o) {
    std::fill_n(values.begin() + static_cast<ptrdiff_t>(o * filter), filter, 0.0f);
    values[o * filter + (o * height + height / 2) * width + width / 2] = 1;
  }
  return values;
}

// Von Neumann's rejection sampling: a value x from [-2, 2) is accepted with probability exp(-x²/2).
// A transformation of uniform numbers by logarithms and cosines (Box-Muller) would give other last
// bits with another math library. Here only the comparison with exp() depends on the library, so
// values are practically the same everywhere.
std::vector<float> truncated_normal(const VariableSpec& variable, double deviation, uint64_t seed) {
  std::vector<float> values(variable.size());
  Random random = random_of(variable, seed);
  for (float& value : values) {
    float x;
    do x = 4 * random.uniform() - 2;
    while (random.uniform() >= std::exp(-0.5 * static_cast<double>(x) * static_cast<double>(x)));
    value = x * static_cast<float>(deviation);
  }
  return values;
}

std::vector<float> initial_values(const VariableSpec& variable, uint64_t seed) {
  struct Draw {
    const VariableSpec& variable;
    uint64_t seed;

    std::vector<float> operator()(const GlorotUniform&) const {
      const Fans fans = fans_of(variable);
      return uniform(variable, std::sqrt(6 / (fans.in + fans.out)), seed);
    }
    std::vector<float> operator()(const TruncatedNormal& normal) const {
      return truncated_normal(variable, normal.deviation, seed);
    }
    std::vector<float> operator()(const ConstantValue& constant) const {
      return std::vector<float>(variable.size(), static_cast<float>(constant.value));
    }
    std::vector<float> operator()(const FanInUniform& fan_in) const {
      return uniform(variable, fan_in.scale / std::sqrt(fans_of(variable).in), seed);
    }
    std::vector<float> operator()(const Dirac&) const { return dirac(variable, seed); }
    std::vector<float> operator()(const GivenValues& given) const { return given.values; }
  };
  return std::visit(Draw{variable, seed}, variable.initializer);
}

}  // namespace

void Variables::require_averages() const {
  if (has_averages()) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "there are no averages of the variables",
               .hint = "train with an average decay to get them"});
}

void Variables::require_slot(VariableId id, Slot slot) const {
  if (!specs_.at(id).trained && slot != Slot::value)
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = specs_[id].name + " is not trained: it has no gradient, momentum or average"});
  if (slot == Slot::average) require_averages();
}

void Variables::require_size(VariableId id, size_t size) const {
  if (size != specs_.at(id).size())
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = specs_[id].name + " has " + std::to_string(specs_[id].size()) +
                           " values, not " + std::to_string(size)});
}

bool is_valid(const LossScale& scale) {
  int exponent = 0;
  return scale.scale >= 1 && scale.scale <= 1 << 24 && std::frexp(scale.scale, &exponent) == 0.5f;
}

bool is_in(std::span<const VariableId> ids, VariableId id) {
  return std::ranges::binary_search(ids, id);
}

double clip_factor(double norm, std::optional<double> limit) {
  if (!limit) return 1;
  if (!std::isfinite(norm)) return std::numeric_limits<double>::quiet_NaN();
  return norm > *limit ? *limit / norm : 1;
}

void initialize(Variables& variables, uint64_t seed) {
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    variables.write(id, initial_values(spec, seed));
    if (spec.trained) variables.write(id, std::vector<float>(spec.size(), 0), Slot::momentum);
  }
  if (variables.has_averages()) variables.start_averages();
  variables.set_loss_scale({});
}

void copy_averages(const Variables& from, Variables& to) {
  if (!std::ranges::equal(from.specs(), to.specs()))
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "averages can't be copied to the variables of another network"});
  for (VariableId id = 0; id < from.specs().size(); ++id)
    to.write(id, from.read(id, from.specs()[id].trained ? Slot::average : Slot::value));
}

}  // namespace recordpipe
