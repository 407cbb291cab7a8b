// Combines groups of elements into one element each, for the operators whose plans make the groups.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "dataset/pipeline/plan/ref_store.h"
#include "dataset/pipeline/plan/stage.h"
#include "recordpipe/pipeline/internal/functions.h"

namespace recordpipe::internal {

// State shared by the plan, the work and the producers.
struct Batching {
  // The plan of `input` must outlive the producers, and `c` and `b` this object.
  Batching(const Stage& input, const BatchFunction& c, const ElementOps& b)
      : input_plan(*input.plan),
        input_work(input.work),
        rows_per_part(input.chunk_size),
        collator(c),
        batch(b) {}

  Plan& input_plan;  // owned by the plan
  const std::shared_ptr<Work> input_work;
  const size_t rows_per_part;
  const BatchFunction& collator;  // owned by the node
  const ElementOps& batch;
  GatheredTickets groups;
};

// Writes the rows of a group directly into a batch. If rows fail, the whole batch fails with the
// error of the first of them.
std::shared_ptr<Work> batch_work(std::shared_ptr<Batching> shared);

// Discards batches whose tickets refer to `groups`.
void discard_batches(std::span<const Ticket> tickets, GatheredTickets& groups, Plan& input);

}  // namespace recordpipe::internal
