// The epoch of a pass over a plan.
#pragma once

#include <cstdint>

#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

// Two numbers, which are equal outside of operators with several inputs. These give each input ids
// of its own, but the same order: zip(images.shuffle(7), labels.shuffle(7)) yields pairs.
struct Epoch {
  Epoch() = default;
  Epoch(uint64_t epoch) : ids(epoch), order(epoch) {}  // NOLINT: a number is an epoch
  Epoch(uint64_t of_ids, uint64_t of_order) : ids(of_ids), order(of_order) {}

  uint64_t ids = 0;    // in the ids of elements, and so in their random numbers
  uint64_t order = 0;  // of the draws of shuffle, global_shuffle and sample_from_datasets
};

// The key of the draws with which an operator with this seed orders elements: the same at any place
// in the pipeline.
inline uint64_t order_key(uint64_t seed) { return derive_key(seed, 0); }

// Of pass `pass` of a repeat in epoch `outer`.
inline Epoch nested_epoch(const Epoch& outer, uint64_t pass) {
  return {nested_epoch(outer.ids, pass), nested_epoch(outer.order, pass)};
}

// Of input `input` of an operator with several inputs, in epoch `outer`.
inline Epoch input_epoch(const Epoch& outer, uint64_t input) {
  return {input_epoch(outer.ids, input), outer.order};
}

}  // namespace recordpipe::internal
