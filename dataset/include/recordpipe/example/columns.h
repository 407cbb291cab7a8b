// Columns: the values of one feature over a batch of records, contiguous in memory.
//
// Columns are views into a batch (parse_example.h), valid until the batch is reset, assigned to or
// destroyed. The batch holds copies of the values; no column points into a record. The values and
// splits of a column start at a multiple of 64 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/tensor_proto.h"

namespace recordpipe {

// Bytes values in the layout of Arrow and tf.RaggedTensor: value i is the range [splits()[i],
// splits()[i + 1]) of bytes().
class BytesValues {
 public:
  BytesValues() = default;
  // `splits` has one more element than there are values.
  BytesValues(const std::byte* bytes, std::span<const int64_t> splits)
      : bytes_(bytes), splits_(splits) {}

  size_t size() const { return splits_.empty() ? 0 : splits_.size() - 1; }
  bool empty() const { return size() == 0; }
  std::span<const std::byte> operator[](size_t i) const {
    return {bytes_ + splits_[i], static_cast<size_t>(splits_[i + 1] - splits_[i])};
  }
  BytesValues subspan(size_t first, size_t count) const {
    return {bytes_, splits_.subspan(first, count + 1)};
  }

  const std::byte* bytes() const { return bytes_; }
  std::span<const int64_t> splits() const { return splits_; }

 private:
  const std::byte* bytes_ = nullptr;
  std::span<const int64_t> splits_;
};

namespace detail {
template <FeatureKind kind>
struct ValuesOf {
  using type = BytesValues;
};
template <>
struct ValuesOf<FeatureKind::floats> {
  using type = std::span<const float>;
};
template <>
struct ValuesOf<FeatureKind::int64s> {
  using type = std::span<const int64_t>;
};
}  // namespace detail

// std::span<const float>, std::span<const int64_t> or BytesValues. All of these have size(), [] and
// subspan().
template <FeatureKind kind>
using Values = typename detail::ValuesOf<kind>::type;

// The column of a FixedLen feature: [batch, shape...], row-major.
template <FeatureKind kind>
struct DenseColumn {
  Values<kind> values;
  std::span<const size_t> shape;  // of one row
  size_t row_size = 0;            // values per row

  Values<kind> row(size_t row) const { return values.subspan(row * row_size, row_size); }
};

// The column of a Ragged or VarLen feature: row i is values[row_splits[i], row_splits[i + 1]), as
// in tf.RaggedTensor. For FixedLenSequence, the splits count steps, each of shape `shape`; row i is
// [steps, shape...].
template <FeatureKind kind>
struct RaggedColumn {
  Values<kind> values;
  std::span<const int64_t> row_splits;  // batch + 1 elements, the first is 0
  std::span<const size_t> shape = {};   // of one item (a step); {} for single values
  size_t item_size = 1;                 // values per item

  // The number of items in a row.
  size_t items(size_t row) const {
    return static_cast<size_t>(row_splits[row + 1] - row_splits[row]);
  }
  Values<kind> row(size_t row) const {
    return values.subspan(static_cast<size_t>(row_splits[row]) * item_size, items(row) * item_size);
  }
};

// The column of a SerializedTensor: [batch, shape...]; if ragged, item i of a row has the shape
// `shape`, and row r consists of the items [row_splits[r], row_splits[r + 1]) of all items. In
// feature lists, row r has the steps [row_splits[r], row_splits[r + 1]) of all steps, and if
// ragged, step s has the items [step_splits[s], step_splits[s + 1]).
struct TensorColumn {
  TensorType type;
  std::span<const std::byte> values;  // row-major, little-endian, without padding
  std::span<const size_t> shape;
  // If ragged, or in feature lists: batch + 1 elements, the first is 0.
  std::span<const int64_t> row_splits = {};
  std::span<const int64_t> step_splits =
      {};  // if ragged in feature lists: total steps + 1 elements
};

// The column of a Ragged feature list: [batch, steps, values] with two ragged dimensions. Row i has
// the steps [row_splits[i], row_splits[i + 1]); step s is values[step_splits[s], step_splits[s +
// 1]).
template <FeatureKind kind>
struct NestedRaggedColumn {
  Values<kind> values;
  std::span<const int64_t> step_splits;  // total steps + 1 elements
  std::span<const int64_t> row_splits;   // batch + 1 elements

  size_t steps(size_t row) const {
    return static_cast<size_t>(row_splits[row + 1] - row_splits[row]);
  }
  Values<kind> step(size_t row, size_t step) const {
    const size_t s = static_cast<size_t>(row_splits[row]) + step;
    const auto first = static_cast<size_t>(step_splits[s]);
    return values.subspan(first, static_cast<size_t>(step_splits[s + 1]) - first);
  }
};

// The indices and dense shape of a tf.SparseTensor with the values of a ragged column.
struct SparseIndices {
  std::vector<std::array<int64_t, 2>> indices;  // (row, index in the row) of each value, in order
  std::array<int64_t, 2> dense_shape;           // number of rows, length of the longest row
};
SparseIndices sparse_indices(std::span<const int64_t> row_splits);

}  // namespace recordpipe
