// A slot of several variables as one contiguous buffer, for sums over replicas and transfers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "recordpipe/trainer/backend/variables.h"

namespace recordpipe {

// A copy of the values, variable after variable. `variables` must outlive it.
class FlatSlot {
 public:
  // Of the trained variables, or of the others.
  FlatSlot(Variables& variables, bool trained, Slot slot);

  std::span<float> values() { return values_; }

  void read();         // copies the values from the variables
  void add();          // adds the variables' values to the copy
  void write() const;  // copies the values back to the variables

 private:
  Variables& variables_;
  const Slot slot_;
  std::vector<VariableId> ids_;
  std::vector<float> values_;
};

// Everything that training keeps between steps: values, momenta, averages if they exist, and
// statistics.
std::vector<FlatSlot> kept_slots(Variables& variables);

}  // namespace recordpipe
