// Which features of an Example or SequenceExample are wanted, and in what form: named after tf.io's
// and meaning what they mean.
//
//     const ExampleSchema schema = {
//         {"image", FixedLen{FeatureKind::bytes}},
//         {"box", FixedLen{FeatureKind::floats, {4}}},
//         {"weight", FixedLen{FeatureKind::floats, {}, std::vector<float>{1}}},  // 1 if missing
//         {"words", Ragged{FeatureKind::int64s}},
//     };
//
// A feature is missing where its name is, and where it is there with no list in it. One with an
// empty list is there: FixedLen finds 0 values in it, and refuses them. A feature of another kind
// than wanted is always refused. Features that aren't wanted are checked as part of the message and
// left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "recordpipe/example_view.h"

namespace recordpipe {

// Of the kind that the feature is of, or nothing.
using DefaultValues = std::variant<std::monostate, std::vector<std::string>, std::vector<float>,
                                   std::vector<int64_t>>;

// As many values in every Example. tf.io.FixedLenFeature.
struct FixedLen {
  FeatureKind kind = FeatureKind::none;  // one must be given
  // Of one Example's values, row-major; {} is a single value. No dimension may be 0.
  std::vector<size_t> shape = {};
  // What an Example without the feature gets: as many values as the shape has. None: it must be
  // there.
  DefaultValues default_values = {};
};

// Any number of values, none where the feature is missing. tf.io.RaggedFeature.
struct Ragged {
  FeatureKind kind = FeatureKind::none;  // one must be given
};
// tf.io.VarLenFeature wants the same and gives it as a SparseTensor: sparse_indices() of columns.h
// makes one's indices of a ragged column.
using VarLen = Ragged;

// As many values in every step of a feature list. tf.io.FixedLenSequenceFeature.
struct FixedLenSequence {
  FeatureKind kind = FeatureKind::none;  // one must be given
  // Of one step's values, as in FixedLen.
  std::vector<size_t> shape = {};
  // Whether a SequenceExample without the list has no steps of it; else it must be there.
  bool allow_missing = false;
};

using ExampleSchema = std::map<std::string, std::variant<FixedLen, Ragged>>;

// In a feature list, Ragged is any number of values in each step of any number of steps.
using FeatureListSchema = std::map<std::string, std::variant<FixedLenSequence, Ragged>>;

struct SequenceExampleSchema {
  ExampleSchema context = {};
  FeatureListSchema feature_lists = {};
};

}  // namespace recordpipe
