// Tickets: elements before they are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "recordpipe/philox.h"

namespace recordpipe::internal {

// Keys an element's random numbers: where the element came from, not when it is computed.
struct ElementId {
  uint64_t epoch = 0;  // which pass over its source: see nested_epoch
  uint64_t index = 0;  // its place in its source
  bool operator==(const ElementId&) const = default;
};

// The epoch of pass `pass` of something that is itself in epoch `outer`: the number of the pass
// where nothing is repeated around it, and another number for each (outer, pass) otherwise.
constexpr uint64_t nested_epoch(uint64_t outer, uint64_t pass) {
  return outer == 0 ? pass : derive_key(outer, pass);
}

// Where one element becomes several (flat_map, unbatch, interleave), the id of the one at `place`:
// a function of both, so that each draws its own random numbers and none depends on what other
// elements become. The epoch is a 64-bit hash: two of n parents share one with probability below
// n^2 / 2^65.
constexpr ElementId child_id(const ElementId& parent, uint64_t place) {
  return {derive_key(derive_key(parent.epoch, 0x6368696C64), parent.index), place};
}

// The epoch of input number `input` of an operator that has several (concatenate, zip), in epoch
// `outer`: the elements of two inputs have different ids, though they may read the same source.
constexpr uint64_t input_epoch(uint64_t outer, uint64_t input) {
  constexpr uint64_t kNoPass = uint64_t{1} << 63;  // no repeat comes so far
  return derive_key(outer, kNoPass + input);
}

// 24 bytes for an element whose value doesn't exist yet.
struct Ticket {
  ElementId id;
  uint64_t ref = 0;  // which element, in the terms of the plan that wrote it
};

// An element of a chunk that could not be computed. It keeps its place, its id and its ticket as if
// it were good: `error` is thrown where it leaves the pipeline, unless ignore_errors removes it.
struct Failure {
  size_t at = 0;  // in the chunk
  std::exception_ptr error;
};
using Failures = std::vector<Failure>;  // in the order of the elements; empty as a rule

}  // namespace recordpipe::internal
