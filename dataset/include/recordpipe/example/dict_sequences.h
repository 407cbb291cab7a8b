// Sequences in Dicts: what bucket_by_sequence_length and pack_sequences need of them.
//
//     // Dicts: "tokens": [length], "label": [].
//     const auto batches = dicts.bucket_by_sequence_length(
//         DictLength{"tokens"}, {.boundaries = {64, 128}, .batch_sizes = {32, 16, 8}},
//         PaddedDictCollator{{"tokens"}});
//     // Dicts: "tokens", "tokens_segment_ids" and "tokens_positions": [1024].
//     const auto rows = dicts.pack_sequences(DictSizes{{"tokens"}}, {1024},
//                                            PackedDictCollator{{"tokens"}, {1024}});
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/example/dict.h"
#include "recordpipe/example/dict_batch.h"

namespace recordpipe {

// The first dimension of an array, or the number of rows of a RaggedArray or a list. Throws
// Error{not_found} without a value at the path, and Error{invalid_argument} for one without a
// dimension.
struct DictLength {
  std::string path;

  size_t operator()(const Dict& dict) const;
  std::vector<Parameter> parameters() const { return {{"length_of", path}}; }
};

// The same of several values.
struct DictSizes {
  std::vector<std::string> paths;

  std::vector<size_t> operator()(const Dict& dict) const;
  std::vector<Parameter> parameters() const;
};

// Stacks Dicts as DictCollator, with the values at `paths`, which are Arrays, filled up with zeros
// in their first dimension: to the longest row, or, with boundaries, to the first boundary above
// it, minus 1. A batch then has [rows, length, ...] of them. Throws as DictLength and DictCollator.
struct PaddedDictCollator {
  using Batch = DictBatch;
  std::vector<std::string> paths;
  std::vector<size_t> boundaries = {};  // of the buckets; empty: the longest row

  std::vector<Parameter> parameters() const;
  void reset(DictBatch& batch, size_t rows) const { DictCollator().reset(batch, rows); }
  void set(DictBatch& batch, size_t row, Dict&& dict) const;
  void finish(DictBatch& batch) const;
};

// Makes a row of the sequences of Dicts: for each name, an Array of its length, with the values of
// all Dicts one after another and then zeros, and "<name>_segment_ids" and "<name>_positions"
// (int32, as PackedRow's). The values are Arrays of one type and, but for the first dimension, one
// shape; other values of the Dicts are left out. Cuts a sequence that is longer than the row.
struct PackedDictCollator {
  using Batch = Dict;
  std::vector<std::string> names;
  std::vector<size_t> lengths;  // of each name

  std::vector<Parameter> parameters() const;
  void reset(Dict& row, size_t sequences) const;
  void set(Dict& row, size_t sequence, Dict&& dict) const;
  void finish(Dict& row) const;
};

}  // namespace recordpipe
