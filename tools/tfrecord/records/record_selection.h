// Which records convert takes of its inputs, and what it does to them, on all cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/record_reader.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/records/input_records.h"
#include "tools/tfrecord/records/where.h"

namespace recordpipe {

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
  RecordReadOptions reading = {};
  // Damage is passed over and told of, instead of thrown; `reading.crc` must not be `never`.
  OnDamage on_damage = nullptr;
  size_t threads = 0;  // 0: all cores
};

// All features that `edit` and `named` name.
FeatureNames names_of(const RecordSelection& selection);

struct SelectionReport {
  uint64_t read = 0;
  uint64_t taken = 0;
  // False where a limit or a sample may have left out records.
  bool looked_at_all = true;
  // Of the names in `edit`, those that some record has, be it one that `where` doesn't fit. Of
  // those in `named`, the ones of records that `where` doesn't fit: others were given to consume().
  FeatureNames found = {};
  // The names that the first records have, if there are any in `edit` or `named`.
  std::vector<std::string> present = {};
};

// A record in pieces that stand one after another; one piece, if it isn't edited.
using RecordPieces = std::span<const std::span<const std::byte>>;

// Calls consume(pieces) for each record that is wanted, in order and on this thread; they are valid
// during the call. `activity` is what a bar on the terminal calls it. Errors of a record that can't
// be edited say the input and where the record starts. No large record is in memory twice. Throws
// what Where::require_possible() finds.
SelectionReport select_records(const CommandContext& context, const std::vector<std::string>& paths,
                               const RecordSelection& selection, const std::string& activity,
                               const std::function<void(RecordPieces)>& consume);

}  // namespace recordpipe
