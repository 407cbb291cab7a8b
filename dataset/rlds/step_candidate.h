// Which features of features.json a row can have, and the leaves of an index for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataset/rlds/step_columns.h"
#include "recordpipe/rlds/step_layout.h"
#include "recordpipe/rlds/steps.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::rlds {

// A leaf of the tree, as a row can have it.
struct Candidate {
  std::string path;              // in the steps, or in the episode
  std::string problem;           // why it can't be had; empty if it can
  std::vector<StepLeaf> leaves;  // one, or those of a ragged feature; row_lengths among themselves
  StepColumn column;             // without name and window
  ColumnSource source;
  // Of ragged features: the feature, and the lengths of the sequences around it.
  tfds::Feature feature = {};
  std::vector<int64_t> lengths = {};
};

// Throws nothing: `problem` says what is wrong. `steps`: the name of the Dataset feature.
Candidate candidate_of(const tfds::Leaf& leaf, const std::string& steps);

}  // namespace recordpipe::rlds
