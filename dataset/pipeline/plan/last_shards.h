// Converts the position of a pipeline that ends in shard operators to that of the same pipeline
// without them, and back.
//
// A shard's position is always between two groups of its input's elements. So n elements of a
// worker are n * num_shards elements of the input, or up to num_shards - 1 fewer at its end.
#pragma once

#include <cstdint>
#include <span>

#include "dataset/pipeline/state/plan_state.h"

namespace recordpipe::internal {

// `shards`: num_shards of the operators, the last operator's first
// (PlanDescription::free_last_shards).
PlanState without_last_shards(PlanState place, std::span<const uint64_t> shards);
PlanState with_last_shards(PlanState place, std::span<const uint64_t> shards);

// The number of workers that share the elements.
uint64_t workers_of(std::span<const uint64_t> shards);

}  // namespace recordpipe::internal
