#include "dataset/tfds/plain_columns.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dataset/tfds/numbers.h"
#include "recordpipe/base/error.h"

namespace recordpipe::tfds {
namespace {

// Larger values take the memory of a batch only if the records have them.
constexpr int64_t kMaxValues = 1 << 16;

std::vector<int64_t> shape_of(const Leaf& leaf) {
  std::vector<int64_t> shape = leaf.lengths;
  shape.insert(shape.end(), leaf.feature->shape.begin(), leaf.feature->shape.end());
  return shape;
}

bool is_list(const Leaf& leaf) { return shape_of(leaf) == std::vector<int64_t>{kUnknown}; }

bool has_known_shape(const Leaf& leaf) {
  int64_t size = 1;
  for (const int64_t dimension : shape_of(leaf)) {
    if (dimension < 1 || dimension > kMaxValues / size) return false;
    size *= dimension;
  }
  return true;
}

bool is_plain(const Leaf& leaf) {
  return !leaf.is_encoded() && !leaf.feature->is_optional && !leaf.in_dataset &&
         leaf.lengths.size() < 2 && (is_list(leaf) || has_known_shape(leaf));
}

std::vector<size_t> with_rows(size_t rows, std::span<const size_t> shape) {
  std::vector<size_t> all{rows};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

Array& as_array(DictValue& value) { return value.become<Array>(); }
Array& as_array(RaggedArray& value) {
  if (Array* array = std::get_if<Array>(&value.values)) return *array;
  return value.values.emplace<Array>();
}
BytesArray& as_bytes_array(DictValue& value) { return value.become<BytesArray>(); }
BytesArray& as_bytes_array(RaggedArray& value) {
  if (BytesArray* strings = std::get_if<BytesArray>(&value.values)) return *strings;
  return value.values.emplace<BytesArray>();
}

// `out`: a DictValue or a RaggedArray.
template <FeatureKind kind, class Out>
void write_values(const Values<kind>& values, const Leaf& leaf, std::vector<size_t> shape,
                  Out& out) {
  if constexpr (kind == FeatureKind::bytes) {
    BytesArray& strings = as_bytes_array(out);
    strings.shape = std::move(shape);
    const std::span<const int64_t> splits = values.splits();
    strings.splits.assign(splits.begin(), splits.end());
    if (strings.splits.empty()) strings.splits.push_back(0);
    strings.bytes.assign(values.bytes(), values.bytes() + strings.splits.back());
  } else {
    Array& array = as_array(out);
    array.type = *leaf.feature->dtype;
    array.shape = std::move(shape);
    array.bytes.resize(values.size() * size_of(array.type));
    cast_numbers(values, array.type, array.bytes);
  }
}

template <FeatureKind kind>
void write_column(const ExampleBatch& batch, const Leaf& leaf, DictValue& out) {
  if (is_list(leaf)) {
    const RaggedColumn<kind> column = batch.ragged<kind>(leaf.key);
    RaggedArray& rows = out.become<RaggedArray>();
    rows.splits.resize(1);
    rows.splits[0].assign(column.row_splits.begin(), column.row_splits.end());
    write_values<kind>(column.values, leaf, {column.values.size()}, rows);
    out.stacking = Stacking::ragged;
    return;
  }
  const DenseColumn<kind> column = batch.dense<kind>(leaf.key);
  write_values<kind>(column.values, leaf, with_rows(batch.size(), column.shape), out);
  out.stacking = Stacking::dense;
}

}  // namespace

PlainColumns::PlainColumns(std::vector<Leaf> leaves) : leaves_(std::move(leaves)) {
  ExampleSchema schema;
  for (const Leaf& leaf : leaves_) {
    // Two leaves may have one key: dicts {"a": {"b": ...}, "a/b": ...}.
    const bool plain = is_plain(leaf) && !schema.contains(leaf.key);
    are_plain_.push_back(plain);
    if (!plain) continue;
    const FeatureKind kind = kind_of(leaf.feature->dtype);
    if (is_list(leaf)) {
      schema[leaf.key] = Ragged{kind};
    } else {
      const std::vector<int64_t> shape = shape_of(leaf);
      schema[leaf.key] = FixedLen{kind, {shape.begin(), shape.end()}};
    }
  }
  if (!schema.empty()) collator_.emplace(schema);
}

void PlainColumns::write(const ExampleBatch& batch, size_t leaf, DictValue& out) const {
  switch (kind_of(leaves_[leaf].feature->dtype)) {
    case FeatureKind::floats:
      return write_column<FeatureKind::floats>(batch, leaves_[leaf], out);
    case FeatureKind::int64s:
      return write_column<FeatureKind::int64s>(batch, leaves_[leaf], out);
    default:
      return write_column<FeatureKind::bytes>(batch, leaves_[leaf], out);
  }
}

}  // namespace recordpipe::tfds
