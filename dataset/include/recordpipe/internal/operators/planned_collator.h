// A collator whose parameters are the plan's.
#pragma once

#include <utility>

#include "recordpipe/internal/engine/plan_description.h"

namespace recordpipe {

// What batch makes of a collator that HasParameters: the layers that images and Examples are of
// know of no plan.
template <HasParameters Collator>
struct PlannedCollator : Collator {
  explicit PlannedCollator(Collator collator) : Collator(std::move(collator)) {}

  PlanDescription describe() const {
    PlanDescription plan{.name = "batch"};
    plan.add(this->parameters());
    return plan;
  }
};

}  // namespace recordpipe
