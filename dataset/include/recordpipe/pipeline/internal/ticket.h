// Tickets represent planned elements that are not computed yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "recordpipe/base/philox.h"

namespace recordpipe::internal {

// The key of an element's random numbers: the origin of the element, which does not depend on the
// time of computation.
struct ElementId {
  uint64_t epoch = 0;  // the pass over the element's source: see nested_epoch
  uint64_t index = 0;  // the element's position in its source
  bool operator==(const ElementId&) const = default;
};

// Returns the epoch of pass `pass` of a repeat in epoch `outer`. Without an enclosing repeat, this
// is `pass`; otherwise it is unique for each (outer, pass).
constexpr uint64_t nested_epoch(uint64_t outer, uint64_t pass) {
  return outer == 0 ? pass : derive_key(outer, pass);
}

// Returns the id of output `place` of an element that yields several outputs (flat_map, unbatch,
// interleave). The id depends only on the element's id and `place`, so each output has its own
// random numbers, independent of all other elements. The epoch of the id is a 64-bit hash: the
// probability that any two of n parents share an epoch is below n^2 / 2^65.
constexpr ElementId child_id(const ElementId& parent, uint64_t place) {
  return {derive_key(derive_key(parent.epoch, 0x6368696C64), parent.index), place};
}

// The index of a failing element that stands for the rest of a source, which is lost: an input of
// interleave that ended with an error. Operators that make one element of several keep it.
inline constexpr uint64_t kEndOfSource = UINT64_MAX;
constexpr bool ends_source(const ElementId& id) { return id.index == kEndOfSource; }

// Returns the epoch of input `input` of an operator with several inputs (concatenate, zip) in epoch
// `outer`. Elements of different inputs have different ids, even if the inputs read the same
// source.
constexpr uint64_t input_epoch(uint64_t outer, uint64_t input) {
  constexpr uint64_t kNoPass = uint64_t{1} << 63;  // larger than the pass numbers of any repeat
  return derive_key(outer, kNoPass + input);
}

// A planned element whose value doesn't exist yet: 24 bytes.
struct Ticket {
  ElementId id;
  uint64_t ref = 0;  // the element, as encoded by the plan that issued the ticket
};

// A failed element of a chunk. It keeps its position, id and ticket, like a valid element. `error`
// is thrown at the end of the pipeline, unless ignore_errors removes the element.
struct Failure {
  size_t at = 0;  // the index in the chunk
  std::exception_ptr error;
};
using Failures = std::vector<Failure>;  // in element order; usually empty

}  // namespace recordpipe::internal
