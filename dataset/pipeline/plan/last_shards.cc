#include "dataset/pipeline/plan/last_shards.h"

#include <utility>

namespace recordpipe::internal {

PlanState without_last_shards(PlanState place, std::span<const uint64_t> shards) {
  for (const uint64_t num_shards : shards) {
    PlanState input = std::move(place.inputs[0]);
    if (place.passed_over > 0) {
      input.passed_over += place.passed_over * num_shards;
      input.past_end += place.past_end * num_shards + num_shards - 1;
    }
    place = std::move(input);
  }
  return place;
}

PlanState with_last_shards(PlanState place, std::span<const uint64_t> shards) {
  for (size_t i = 0; i < shards.size(); ++i) {
    PlanState shard;
    shard.inputs.push_back(std::move(place));
    place = std::move(shard);
  }
  return place;
}

uint64_t workers_of(std::span<const uint64_t> shards) {
  uint64_t workers = 1;
  for (const uint64_t num_shards : shards) workers *= num_shards;
  return workers;
}

}  // namespace recordpipe::internal
