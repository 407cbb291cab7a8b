#include "recordpipe/columns.h"

#include <algorithm>

namespace recordpipe {

SparseIndices sparse_indices(std::span<const int64_t> row_splits) {
  SparseIndices sparse{{}, {static_cast<int64_t>(row_splits.size()) - 1, 0}};
  sparse.indices.reserve(static_cast<size_t>(row_splits.back()));
  for (size_t row = 0; row + 1 < row_splits.size(); ++row) {
    const int64_t length = row_splits[row + 1] - row_splits[row];
    for (int64_t i = 0; i < length; ++i) sparse.indices.push_back({static_cast<int64_t>(row), i});
    sparse.dense_shape[1] = std::max(sparse.dense_shape[1], length);
  }
  return sparse;
}

}  // namespace recordpipe
