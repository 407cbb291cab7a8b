// Variables selected by name in options.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// The trained variables not selected by `names`, in ascending order: they are to be frozen. A name
// is that of a variable ("conv1/weights"), or of a layer or block ("conv1", "stage1/block0") and
// then selects all its variables. Without names, no variable is frozen. Throws
// Error{invalid_argument} for a name that selects no trained variable.
std::vector<VariableId> frozen_variables(std::span<const VariableSpec> variables,
                                         std::span<const std::string> names);

// The gradient multiplier of each variable, by VariableId: 1 unless `multipliers` contains its
// name. Empty if `multipliers` is empty. Throws Error{invalid_argument} for a name that is not a
// trained variable and for a multiplier that is not finite.
std::vector<double> gradient_multipliers(std::span<const VariableSpec> variables,
                                         const std::map<std::string, double>& multipliers);

}  // namespace recordpipe
