// Writes the records of files anew: compressed, split, merged, shuffled, sampled or edited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/files/input_records.h"
#include "dataset/toolkit/jobs/job_features.h"
#include "dataset/toolkit/jobs/record_output.h"
#include "recordpipe/toolkit/record_selection.h"

namespace recordpipe {

struct ConvertOptions {
  InputReading input = {};
  // Its split divides the records by selection.seed. Without a key, the inputs must have different
  // names.
  RecordOutputOptions output = {};
  RecordSelection selection = {};  // its seed is that of sample_count and shuffle, too
  // Takes this many of the selected records, drawn at random. Not together with
  // selection.fraction.
  std::optional<uint64_t> sample_count = {};
  // Puts the records into a random order, through temporary files in `temporary_directory` (by
  // default the output's) if they don't fit into memory.
  bool shuffle = false;
  std::string temporary_directory = {};  // also for kept_records.h, but only if it is given

  // Whether the number of records is needed before the first is written: shards are filled one
  // after another, or sample_count are drawn.
  bool needs_count() const { return !shuffle && (output.needs_counts() || sample_count); }
  // Whether what is counted can be told without the records' data, by indexes and headers. If not,
  // the inputs are read twice, except behind the limit, or if few records are selected
  // (kept_records.h).
  bool counts_without_data() const {
    return !selection.where && !selection.limit && input.on_damage == OnDamage::raise &&
           !selection.on_failed_edit && !(output.split.key && output.needs_counts());
  }
  // Whether the output may replace an input: there is only one, and each of its records and
  // features is written.
  bool may_replace_input() const;
};

// Throws Error{invalid_argument} for sample_count with splits whose shards are in blocks: their
// numbers of records aren't known. Throws the errors of check_split() and check_split_inputs().
void check_conversion(const ConvertOptions& options);

struct ConvertReport {
  std::vector<WrittenFile> files = {};
  uint64_t read = 0;   // records
  uint64_t taken = 0;  // of these, by the selection, before sample_count
  FileFeatures features = {};
};

// Throws the errors of check_conversion(), select_records(), require_found() and RecordOutput. If
// selection.is_part, features that the inputs lack are no error and no note: JobFeatures knows them
// of ConvertReport::features.
// input.damaged is called once for each region. Their notes go to `work`.
//
// Where the number of records is needed first, it comes from the index PATH.idx of each input; of a
// local plain file without one, from the records' headers. Only other inputs, which are compressed
// or remote, are read once more: keeping what they hold would take as much disk space as their
// records, and about the time of reading them again. If !counts_without_data(), all inputs are read
// once more, unless the selected records are few enough to be kept. Throws Error{corrupted} if
// there are more or fewer records than were counted. The same inputs and options give the same
// files with any number of threads, except for output.fast, which depends on the kind of processor.
ConvertReport convert_records(const FileWork& work, ConvertOptions options);

}  // namespace recordpipe
