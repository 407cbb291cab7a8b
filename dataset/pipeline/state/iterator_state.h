// Serializes a pipeline position: Iterator::state() returns it, Iterator::restore() accepts it.
//
// A state is a serialized recordpipe.proto.IteratorState (proto/iterator_state.proto). It
// identifies its plan (the operators and their parameters; of functions, what they report) and the
// files. To restore it, the following must be unchanged:
//   - name and content of the sources' files that the saving iterator had opened. The content is
//     compared by sampled blocks, which are read again (file_fingerprints.h lists the changes that
//     are detected);
//   - name and size of the sources' other files;
//   - name and content of the files that the inputs of interleave and flat_map (the Datasets made
//     from elements) had opened, if restoring opens them again. These are all files whose records
//     before the position must be read again, and all files that were read in part. Files that are
//     opened after the position is reached are not compared.
// Folders are not compared, so data may be moved. Queries of URLs are not compared either, because
// URLs may be presigned.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dataset/pipeline/observe/plan_description.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "dataset/pipeline/state/plan_state.h"

namespace recordpipe::internal {

// An iterator's position, the number of elements since the first element of its pass, and the epoch
// of this pass.
struct IteratorPlace {
  PlanState plan = {};
  uint64_t position = 0;
  uint64_t epoch = 0;
};

// Examines the files that `files` doesn't know; if a file wasn't opened, only its name and size.
// Throws the errors of examining a file.
std::string save_iterator_state(const PlanDescription& plan, const IteratorPlace& place,
                                FileFingerprints& files);

// A place without operators is the start of the epoch.
// Throws Error{invalid_argument} if `state` is not a state, has another version (the error names
// both), or belongs to another plan (the error names the operator) or to source files that have
// changed since (the error names the file).
IteratorPlace load_iterator_state(const PlanDescription& plan, std::string_view state,
                                  FileFingerprints& files);

// Returns the state as if the functions of `plan` had been those that it was saved with; `state`
// itself if it belongs to another plan. Throws Error{invalid_argument} if it is not a state.
std::string with_code_of(const PlanDescription& plan, std::string_view state);

// Must be called when the loaded position is reached. Throws Error{invalid_argument}, naming the
// file, if an input, on the way there, opened a file that has changed since the state was saved, or
// couldn't open one of the saved files.
void require_input_files(FileFingerprints& files);

}  // namespace recordpipe::internal
