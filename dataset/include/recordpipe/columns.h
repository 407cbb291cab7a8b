// Columns: one feature's values over a batch of records, one after another in memory.
//
// These are views into a batch (parse_example.h), valid until it is reset, assigned to or
// destroyed. The batch holds copies of the records' values: nothing here points into a record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recordpipe/example_view.h"

namespace recordpipe {

// Bytes values, as Arrow and tf.RaggedTensor keep them: value i is bytes()[splits()[i],
// splits()[i + 1]).
class BytesValues {
 public:
  BytesValues() = default;
  // `splits` holds one number more than there are values.
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

// std::span<const float>, std::span<const int64_t> or BytesValues: all have size(), [] and subspan.
template <FeatureKind kind>
using Values = typename detail::ValuesOf<kind>::type;

// FixedLen: [batch, shape...], row-major.
template <FeatureKind kind>
struct DenseColumn {
  Values<kind> values;
  std::span<const size_t> shape;  // of one row
  size_t row_size = 0;            // how many values that are

  Values<kind> row(size_t row) const { return values.subspan(row * row_size, row_size); }
};

// Ragged, VarLen: row i is values[row_splits[i], row_splits[i + 1]), as in tf.RaggedTensor.
// FixedLenSequence: the same in steps, each of `shape`: row i is [steps, shape...].
template <FeatureKind kind>
struct RaggedColumn {
  Values<kind> values;
  std::span<const int64_t> row_splits;  // batch + 1 numbers, the first is 0
  std::span<const size_t> shape = {};   // of one item: a step; {} for single values
  size_t item_size = 1;                 // how many values that are

  size_t items(size_t row) const {
    return static_cast<size_t>(row_splits[row + 1] - row_splits[row]);
  }
  Values<kind> row(size_t row) const {
    return values.subspan(static_cast<size_t>(row_splits[row]) * item_size, items(row) * item_size);
  }
};

// Ragged in a feature list, [batch, steps, values], both ragged: row i's steps are
// row_splits[i] .. row_splits[i + 1], and step s is values[step_splits[s], step_splits[s + 1]).
template <FeatureKind kind>
struct NestedRaggedColumn {
  Values<kind> values;
  std::span<const int64_t> step_splits;  // all steps + 1 numbers
  std::span<const int64_t> row_splits;   // batch + 1 numbers

  size_t steps(size_t row) const {
    return static_cast<size_t>(row_splits[row + 1] - row_splits[row]);
  }
  Values<kind> step(size_t row, size_t step) const {
    const size_t s = static_cast<size_t>(row_splits[row]) + step;
    const auto first = static_cast<size_t>(step_splits[s]);
    return values.subspan(first, static_cast<size_t>(step_splits[s + 1]) - first);
  }
};

// tf.SparseTensor's indices and shape for the values of a ragged column, which are the same in
// both.
struct SparseIndices {
  std::vector<std::array<int64_t, 2>> indices;  // (row, place in the row) of each value, in order
  std::array<int64_t, 2> dense_shape;           // rows, values of the longest row
};
SparseIndices sparse_indices(std::span<const int64_t> row_splits);

}  // namespace recordpipe
