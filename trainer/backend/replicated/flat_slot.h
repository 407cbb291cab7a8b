// A slot of several variables as one piece of memory: what replicas add up and send each other.
#pragma once

#include <span>
#include <vector>

#include "recordpipe/trainer/backend/variables.h"

namespace recordpipe {

// A copy of the numbers, one variable behind the other. `variables` must outlive it.
class FlatSlot {
 public:
  // Of those that are trained, or of the others.
  FlatSlot(Variables& variables, bool trained, Slot slot);

  std::span<float> values() { return values_; }

  void read();         // replaces the copy by the variables' numbers
  void add();          // adds the variables' numbers to the copy
  void write() const;  // replaces the variables' numbers by the copy

 private:
  Variables& variables_;
  const Slot slot_;
  std::vector<VariableId> ids_;
  std::vector<float> values_;
};

// All that a training keeps from step to step: values, momenta, averages where there are some, and
// statistics.
std::vector<FlatSlot> kept_slots(Variables& variables);

}  // namespace recordpipe
