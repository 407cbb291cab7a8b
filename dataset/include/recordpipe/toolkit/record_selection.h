// Selects records, and edits their features, on several threads.
//
//     RecordReader reader(posix_file_system(), "train.tfrecords");
//     RecordSelection selection = {.where = Where("label == 3"), .limit = 100};
//     select_records([&] { return reader.read(); }, selection,
//                    [&](RecordPieces record) { writer.write(record.front()); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/record/record.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

// Defaults: all records, unchanged.
struct RecordSelection {
  std::optional<Where> where = {};
  // Selects each record with this probability. Whether a record is selected depends only on the
  // seed and on the record's index, counted across all inputs.
  std::optional<double> fraction = {};
  uint64_t seed = 0;
  // The maximum number of selected records. Selects the first records that `fraction` and `where`
  // accept.
  std::optional<uint64_t> limit = {};
  FeatureEdit edit = {};  // its kind is also that of `where`
  // Skips records whose FeatureEdit::replace throws an Error, which is passed on, with the record's
  // path and offset; called on the calling thread, in the order of the records. Without it, the
  // error is thrown.
  std::function<void(const Error&)> on_failed_edit = {};
  // More feature names for SelectionReport::found, in addition to the names in `edit`.
  FeatureNames named = {};
  // The inputs are some of those that a user names for a job, so they may lack a feature of `where`
  // or `edit`: as where records are left out, this is a note, not an error.
  bool is_part = false;
  size_t threads = 0;  // 0: available_cpus(); at most 16. Used only with `where` or `edit`
};

// Whether `fraction` includes the record of this index, counted across all inputs.
bool is_in_sample(const RecordSelection& selection, uint64_t index);

// Returns all feature names in `edit` and `named`.
FeatureNames names_of(const RecordSelection& selection);

struct SelectionReport {
  uint64_t read = 0;
  uint64_t taken = 0;   // without those that failed
  uint64_t failed = 0;  // passed to on_failed_edit
  // false if `limit` or `fraction` may have excluded records, or the inputs are a part.
  bool looked_at_all = true;
  // The union of two sets, collected from the records that `fraction` does not exclude: from
  // `edit`, the names that exist in any of these records, including records that `where` doesn't
  // match; from `named`, the names that exist in records that `where` doesn't match (consume() can
  // search the selected records itself). Records after the limit may be left out.
  FeatureNames found = {};
  // The feature names of the first records, if `edit` or `named` has any names.
  std::vector<std::string> present = {};
  // What Where::require_possible() returned: to be shown as a note.
  std::string note = {};
};

// A record as consecutive pieces; one piece if it isn't edited.
using RecordPieces = std::span<const std::span<const std::byte>>;

// Calls consume(pieces) for each selected record that read() returns, until read() returns nullopt
// or no more records are needed. Calls read() and consume() on the calling thread, in order;
// `pieces` are valid during the call. Each record that read() returns must remain valid until the
// next call of read(); its path must remain valid until select_records() returns. Large records are
// never copied. `where` knows record numbers as RecordNumbers does (where.h).
//
// Throws the errors of read() and consume(); Error{corrupted} for a record that can't be edited,
// with its path and offset; and the errors of Where::require_possible().
SelectionReport select_records(const std::function<std::optional<Record>()>& read,
                               const RecordSelection& selection,
                               const std::function<void(RecordPieces)>& consume);

// The same; consume(pieces, record) also gets the record as it was read, numbered in its file.
SelectionReport select_records(
    const std::function<std::optional<Record>()>& read, const RecordSelection& selection,
    const std::function<void(RecordPieces, const NumberedRecord& record)>& consume);

// Selects exactly `wanted` of `total` items, with one call per item; all subsets are equally likely
// (Knuth, The Art of Computer Programming, 3.4.2, algorithm S).
class ExactSample {
 public:
  ExactSample(uint64_t seed, uint64_t wanted, uint64_t total)
      : random_(derive_key(seed, kStream), 0, 0), wanted_(wanted), left_(total) {}

  bool take_next() {
    if (left_ == 0) return false;
    const bool takes = random_.below64(left_--) < wanted_;
    if (takes) --wanted_;
    return takes;
  }

 private:
  static constexpr uint64_t kStream = 0x5341'4d50'4c45'0002;  // random stream of this use of a seed

  Random random_;
  uint64_t wanted_;
  uint64_t left_;
};

}  // namespace recordpipe
