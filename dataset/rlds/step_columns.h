// Which leaves of features.json the columns of a row come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataset/rlds/ragged_steps.h"
#include "dataset/rlds/step_values.h"
#include "recordpipe/rlds/step_layout.h"
#include "recordpipe/rlds/steps.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::rlds {

struct ColumnSource {
  size_t leaf = 0;  // of ResolvedColumns::leaves
  bool is_of_episode = false;
  bool is_padded = false;             // an offset is not 0
  std::vector<int64_t> offsets = {};  // {0} without a window
  size_t count = 1;                   // elements of one step
  StoredAs stored = {};               // of numbers
  // Of ragged columns: how its values are decoded, and the leaves that have them.
  std::shared_ptr<const RaggedColumn> ragged = {};
  std::vector<size_t> ragged_leaves = {};
};

struct ResolvedColumns {
  std::string steps;             // the name of the Dataset feature
  std::vector<StepLeaf> leaves;  // all that an index can have, not only those of the columns
  std::vector<StepColumn> columns;
  std::vector<ColumnSource> sources;  // of the columns
  std::vector<StepMask> masks;
  std::vector<std::vector<int64_t>> mask_offsets;
  uint64_t format = 0;  // differs between other columns or masks
  std::string text;     // the columns, their sources and windows, for descriptions
};

// Throws as StepReader's constructor.
ResolvedColumns resolve_columns(const tfds::Feature& features, const StepsOptions& options);

}  // namespace recordpipe::rlds
