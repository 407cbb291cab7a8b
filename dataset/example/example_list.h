// Turns an ExampleListWithContext into a SequenceExample, for the parser of these.
#pragma once

#include <algorithm>
#include <cstddef>

#include "recordpipe/record/record.h"

namespace recordpipe {

// The memory that the steps of all feature lists of an ExampleListWithContext may take: a list
// whose Examples have other features each has as many steps as the product of both numbers.
constexpr size_t max_step_bytes(size_t list_bytes) {
  return std::max<size_t>(1 << 20, 4 * list_bytes);
}

struct ConvertedList {
  Record record;
  bool is_usual = true;  // as FeatureColumns::Row::is_usual()
};

// Returns a record with the list's context, and a feature list for each feature of its Examples,
// with a step for each Example. The record owns its bytes. Throws Error{corrupted} if `list` is not
// an ExampleListWithContext, Error{limit_exceeded} if its Examples have so many different features
// that the result would be much larger.
ConvertedList as_sequence_example(const Record& list);

}  // namespace recordpipe
