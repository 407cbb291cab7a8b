#include "recordpipe/trainer/optimizer/variable_selection.h"

#include <algorithm>
#include <cmath>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

[[noreturn]] void refuse_selection(const std::string& reason, const std::string& hint = {}) {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = reason, .hint = hint});
}

}  // namespace

std::vector<VariableId> frozen_variables(std::span<const VariableSpec> variables,
                                         std::span<const std::string> names) {
  if (names.empty()) return {};
  std::vector<bool> chosen(variables.size(), false);
  for (const std::string& name : names) {
    bool found = false;
    for (VariableId id = 0; id < variables.size(); ++id) {
      if (!variables[id].trained) continue;
      if (variables[id].name != name && !variables[id].name.starts_with(name + "/")) continue;
      chosen[id] = found = true;
    }
    if (!found)
      refuse_selection("no trained variable is named " + printable(name),
                       "use the name of a variable, or of a layer for all its variables");
  }
  std::vector<VariableId> frozen;
  for (VariableId id = 0; id < variables.size(); ++id)
    if (variables[id].trained && !chosen[id]) frozen.push_back(id);
  return frozen;
}

std::vector<double> gradient_multipliers(std::span<const VariableSpec> variables,
                                         const std::map<std::string, double>& multipliers) {
  if (multipliers.empty()) return {};
  std::vector<double> numbers(variables.size(), 1);
  for (const auto& [name, multiplier] : multipliers) {
    const auto variable = std::ranges::find(variables, name, &VariableSpec::name);
    if (variable == variables.end() || !variable->trained)
      refuse_selection("gradient multipliers: no trained variable is named " + printable(name));
    if (!std::isfinite(multiplier))
      refuse_selection("the gradient multiplier of " + name + " is not finite");
    numbers[static_cast<size_t>(variable - variables.begin())] = multiplier;
  }
  return numbers;
}

}  // namespace recordpipe
