// A pipeline position as bytes: returned by Iterator::state(), accepted by Iterator::restore().
//
// A serialized recordpipe.proto.IteratorState (proto/iterator_state.proto). It identifies its plan
// (the operators and their parameters; functions can't be compared) and the files. To restore it,
// the following must be unchanged:
//   - name and content of the sources' files that the saving iterator had opened. The content is
//     compared by sampled blocks, which are read again (file_fingerprints.h lists the changes that
//     are detected);
//   - name and size of the sources' other files;
//   - name and content of the files that the inputs of interleave and flat_map (the datasets that
//     elements became) had opened, if restoring opens them again. These are all files whose records
//     before the position must be read again, and those that were read in part. Files that are
//     opened after the position was reached are not compared.
// Folders don't count, so data may be moved; neither do the queries of URLs, which may be
// presigned.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dataset/pipeline/engine/file_fingerprints.h"
#include "dataset/pipeline/engine/plan_description.h"
#include "dataset/pipeline/engine/plan_state.h"

namespace recordpipe::internal {

// An iterator's position, the number of elements it has returned since its plan's first, and the
// epoch of its pass.
struct IteratorPlace {
  PlanState plan = {};
  uint64_t position = 0;
  uint64_t epoch = 0;
};

// Examines the files that `files` doesn't know: only name and size of those that weren't opened.
// Errors of examining a file are thrown.
std::string save_iterator_state(const PlanDescription& plan, const IteratorPlace& place,
                                FileFingerprints& files);

// Throws Error{invalid_argument} if `state` is not a state, is of another version (naming both), of
// another plan (naming the operator), or of source files that have changed since (naming the file).
IteratorPlace load_iterator_state(const PlanDescription& plan, std::string_view state,
                                  FileFingerprints& files);

// Call it when the loaded position is reached: throws Error{invalid_argument}, naming the file, if
// an input opened on the way a file that has changed since, or couldn't open it.
void require_input_files(FileFingerprints& files);

}  // namespace recordpipe::internal
