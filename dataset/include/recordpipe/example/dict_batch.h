// Batches of Dicts.
//
//     for (const DictBatch& batch : dicts.batch(64, DropRemainder::yes, DictCollator())) {
//       const Array& actions = batch.columns.at("action").array();  // [64, 7]
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recordpipe/example/dict.h"

namespace recordpipe {

// `columns` has the names of the rows, nested as these are. Values are stacked as
// DictValue::stacking says: an Array or BytesArray [rows, shape...], a RaggedArray, or a list of
// the rows' values. A value that is_optional has "<name>_mask" behind it: an Array of bools [rows].
struct DictBatch {
  Dict columns;
  size_t rows = 0;

  std::vector<Dict> parts = {};  // between DictCollator::reset() and finish(): the rows

  friend uint64_t heap_bytes(const DictBatch& batch);
};

// Stacks Dicts of the same names, nesting, types and stacking. Throws Error{invalid_argument},
// which names the value, if they differ, or if the shapes of dense values differ, or those of
// ragged ones in other dimensions than the first. The memory of the batch is used again.
struct DictCollator {
  using Batch = DictBatch;

  void reset(DictBatch& batch, size_t rows) const;
  void set(DictBatch& batch, size_t row, Dict&& dict) const;
  void finish(DictBatch& batch) const;
};

}  // namespace recordpipe
