// Selects records, and edits their features, on all cores.
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

#include "recordpipe/error.h"
#include "recordpipe/philox.h"
#include "recordpipe/record.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

// Defaults: all records, as they are.
struct RecordSelection {
  std::optional<Where> where = {};
  // Each record with this probability: whether record i of all inputs is taken is a function of the
  // seed and i.
  std::optional<double> fraction = {};
  uint64_t seed = 0;
  // The first so many of those that are left.
  std::optional<uint64_t> limit = {};
  FeatureEdit edit = {};
  // Features that SelectionReport::found tells of, as it does of the edit's.
  FeatureNames named = {};
  size_t threads = 0;  // 0: all cores
};

// All features that `edit` and `named` name.
FeatureNames names_of(const RecordSelection& selection);

struct SelectionReport {
  uint64_t read = 0;
  uint64_t taken = 0;
  // False where a limit or a sample may have left out records.
  bool looked_at_all = true;
  // Of the names in `edit`, those that some record has, be it one that `where` doesn't match. Of
  // those in `named`, the ones of records that `where` doesn't match: others were given to
  // consume().
  FeatureNames found = {};
  // The names that the first records have, if there are any in `edit` or `named`.
  std::vector<std::string> present = {};
};

// A record in pieces that stand one after another; one piece, if it isn't edited.
using RecordPieces = std::span<const std::span<const std::byte>>;

// Calls consume(pieces) for each selected record of those that read() gives, until it gives none or
// no more are wanted. Both run on this thread, in order; `pieces` are valid during the call. A
// record of read() must be valid until the next call. No large record is in memory twice.
//
// Throws what read() and consume() throw; Error{corrupted} for a record that can't be edited, with
// its path and offset; and what Where::require_possible() throws.
SelectionReport select_records(const std::function<std::optional<Record>()>& read,
                               const RecordSelection& selection,
                               const std::function<void(RecordPieces)>& consume);

// Draws exactly `wanted` of `total` numbers, asked one after another, each set of them as likely
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
  static constexpr uint64_t kStream = 0x5341'4d50'4c45'0002;  // one use of a seed among others

  Random random_;
  uint64_t wanted_;
  uint64_t left_;
};

}  // namespace recordpipe
