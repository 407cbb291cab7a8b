// bucket_by_sequence_length: batches of elements of similar length, so that padding wastes little.
// Parameters of Dataset::bucket_by_sequence_length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/pipeline/element.h"
#include "recordpipe/pipeline/padded_batch.h"

namespace recordpipe {

// Bucket i has the elements with boundaries[i - 1] <= length < boundaries[i]; the last one all that
// are longer.
struct LengthBuckets {
  std::vector<size_t> boundaries;   // at least one; ascending, from 1
  std::vector<size_t> batch_sizes;  // of each bucket: one more than boundaries; each at least 1
  bool drop_remainder = false;      // drop the batches that are not full at the end
};

// To which length rows are padded: that of the longest row of the batch, or the largest length of
// the bucket, its boundary - 1. With `yes`, batches have at most as many shapes as there are
// buckets, and an element that is not shorter than the last boundary is an error.
enum class PadToBucketBoundary { no, yes };

// The collator of buckets of vectors that are padded to the bucket's boundary - 1.
template <Element V>
struct BoundaryCollator {
  using Batch = PaddedBatch<V>;
  V padding{};
  std::vector<size_t> boundaries;

  std::vector<Parameter> parameters() const {
    std::vector<Parameter> given = PaddedCollator<V>{padding}.parameters();
    given.back().value = "boundary";
    return given;
  }
  void reset(Batch& batch, size_t rows) const { PaddedCollator<V>{padding}.reset(batch, rows); }
  void set(Batch& batch, size_t row, std::vector<V>&& values) const {
    PaddedCollator<V>{padding}.set(batch, row, std::move(values));
  }
  void finish(Batch& batch) const {
    const auto boundary = std::ranges::upper_bound(boundaries, std::ranges::max(batch.lengths));
    PaddedCollator<V>{padding, *boundary - 1}.finish(batch);
  }
};

}  // namespace recordpipe
