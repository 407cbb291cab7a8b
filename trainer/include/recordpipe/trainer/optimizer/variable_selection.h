// Which variables an option means that names them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// The trained variables that `names` leaves out, ascending: they are to stay as they are. A name is
// a variable's ("conv1/weights") or that of a layer or block ("conv1", "stage1/block0"), whose
// variables are meant. No names: none is left out. Throws Error{invalid_argument} for a name that
// means no trained variable.
std::vector<VariableId> frozen_variables(std::span<const VariableSpec> variables,
                                         std::span<const std::string> names);

// What each variable's gradient is multiplied with, by VariableId: 1 unless `multipliers` says
// another number for its name. Empty if it says nothing. Throws Error{invalid_argument} for a name
// that is no trained variable's and for a multiplier that is not finite.
std::vector<double> gradient_multipliers(std::span<const VariableSpec> variables,
                                         const std::map<std::string, double>& multipliers);

}  // namespace recordpipe
