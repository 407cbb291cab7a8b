// A place in a pipeline as bytes: what Iterator::state() gives and Iterator::restore() takes.
//
// A serialized recordpipe.proto.IteratorState (proto/iterator_state.proto). It says which plan it
// belongs to (the operators and what they were given; functions can't be compared) and what the
// files were, by a sample of each: file_fingerprints.h says which changes it sees. Folders don't
// count, so data may be moved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dataset/pipeline/file_fingerprints.h"
#include "dataset/pipeline/plan_description.h"
#include "dataset/pipeline/plan_state.h"

namespace recordpipe {

// Where an iterator stands, how many elements it has returned since its plan's first, and the epoch
// of its pass.
struct IteratorPlace {
  PlanState plan = {};
  uint64_t position = 0;
  uint64_t epoch = 0;
};

// Throws what looking at the files throws.
std::string save_iterator_state(const PlanDescription& plan, const IteratorPlace& place,
                                FileFingerprints& files);

// Throws Error{invalid_argument} where `state` is no state, of another version (naming both), of
// another plan (naming the operator), or of files that have changed since (naming the file).
IteratorPlace load_iterator_state(const PlanDescription& plan, std::string_view state,
                                  FileFingerprints& files);

}  // namespace recordpipe
