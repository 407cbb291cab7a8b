// Turns an ExampleListWithContext into a SequenceExample, for the parser of these.
#pragma once

#include "recordpipe/record.h"

namespace recordpipe {

// Returns a record with the list's context, and a feature list for each feature of its Examples,
// with a step for each Example. The record owns its bytes. Throws Error{corrupted} if `list` is not
// an ExampleListWithContext, Error{limit_exceeded} if its Examples have so many different features
// that the result would be much larger.
Record as_sequence_example(const Record& list);

}  // namespace recordpipe
