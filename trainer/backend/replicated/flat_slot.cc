#include "trainer/backend/replicated/flat_slot.h"

#include <algorithm>
#include <functional>

namespace recordpipe {

FlatSlot::FlatSlot(Variables& variables, bool trained, Slot slot)
    : variables_(variables), slot_(slot) {
  size_t size = 0;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    if (variables.specs()[id].trained != trained) continue;
    ids_.push_back(id);
    size += variables.specs()[id].size();
  }
  values_.resize(size);
}

void FlatSlot::read() {
  auto to = values_.begin();
  for (const VariableId id : ids_) to = std::ranges::copy(variables_.read(id, slot_), to).out;
}

void FlatSlot::add() {
  auto to = values_.begin();
  for (const VariableId id : ids_) {
    const std::vector<float> more = variables_.read(id, slot_);
    to = std::transform(more.begin(), more.end(), to, to, std::plus());
  }
}

void FlatSlot::write() const {
  std::span<const float> rest = values_;
  for (const VariableId id : ids_) {
    const size_t size = variables_.specs()[id].size();
    variables_.write(id, rest.first(size), slot_);
    rest = rest.subspan(size);
  }
}

std::vector<FlatSlot> kept_slots(Variables& variables) {
  std::vector<FlatSlot> slots;
  slots.emplace_back(variables, true, Slot::value);
  slots.emplace_back(variables, true, Slot::momentum);
  if (variables.has_averages()) slots.emplace_back(variables, true, Slot::average);
  slots.emplace_back(variables, false, Slot::value);
  return slots;
}

}  // namespace recordpipe
