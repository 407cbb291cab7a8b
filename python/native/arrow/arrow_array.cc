#include "python/native/arrow/arrow_array.h"

#include <bit>
#include <span>
#include <utility>

namespace recordpipe::python {
namespace {

using Bits = std::vector<uint8_t>;  // bit i % 8 of byte i / 8

// An array before it is exported.
struct ArrayParts {
  size_t length = 0;
  Bits validity = {};                     // empty: no nulls
  std::vector<const void*> buffers = {};  // without the validity
  Bits bits = {};                         // if not empty, the only buffer
  std::vector<ArrayParts> children = {};
};

// What an exported ArrowArray points to. A consumer may move a child out, and release it later than
// its parent.
struct ExportedArray {
  std::shared_ptr<const Lease> lent;  // shared by the arrays of all columns
  Bits validity;
  Bits bits;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;

  ExportedArray(ArrayParts array, std::shared_ptr<const Lease> lent);
  ~ExportedArray() {
    for (ArrowArray& child : children) {
      if (child.release) child.release(&child);
    }
  }
  ExportedArray(const ExportedArray&) = delete;
  ExportedArray& operator=(const ExportedArray&) = delete;
};

void release_array(ArrowArray* array) {
  array->release = nullptr;
  delete static_cast<ExportedArray*>(array->private_data);
}

// The bits from `rows` on are 1.
int64_t count_nulls(const Bits& validity) {
  int64_t nulls = 0;
  for (const uint8_t byte : validity) nulls += 8 - std::popcount(byte);
  return nulls;
}

void export_array(ArrayParts array, const std::shared_ptr<const Lease>& lent, ArrowArray& out) {
  const auto length = static_cast<int64_t>(array.length);
  auto exported = std::make_unique<ExportedArray>(std::move(array), lent);
  out = {.length = length,
         .null_count = count_nulls(exported->validity),
         .offset = 0,
         .n_buffers = static_cast<int64_t>(exported->buffers.size()),
         .n_children = static_cast<int64_t>(exported->children.size()),
         .buffers = exported->buffers.data(),
         .children = exported->child_pointers.data(),
         .dictionary = nullptr,
         .release = release_array,
         .private_data = exported.get()};
  exported.release();
}

ExportedArray::ExportedArray(ArrayParts array, std::shared_ptr<const Lease> owner)
    : lent(std::move(owner)), validity(std::move(array.validity)), bits(std::move(array.bits)) {
  alignas(64) static const char nothing[64] = {};
  buffers.push_back(validity.empty() ? nullptr : validity.data());
  if (!bits.empty()) buffers.push_back(bits.data());
  // Some consumers don't accept a null pointer for an empty buffer.
  for (const void* buffer : array.buffers) buffers.push_back(buffer ? buffer : nothing);
  children.resize(array.children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    export_array(std::move(array.children[i]), lent, children[i]);
    child_pointers.push_back(&children[i]);
  }
}

template <class T>
ArrayParts array_of(std::span<const T> values) {
  return {.length = values.size(), .buffers = {values.data()}};
}

ArrayParts array_of(const BytesValues& values) {
  return {.length = values.size(), .buffers = {values.splits().data(), values.bytes()}};
}

// `count` numbers of the feature's type.
ArrayParts block_array(const std::byte* data, size_t count, const OutputFeature& feature) {
  if (feature.dtype.code != static_cast<uint8_t>(nb::dlpack::dtype_code::Bool)) {
    return {.length = count, .buffers = {data}};
  }
  Bits bits((count + 7) / 8 + 1);  // never empty
  for (size_t i = 0; i < count; ++i) {
    if (data[i] != std::byte{0}) bits[i / 8] |= static_cast<uint8_t>(1U << i % 8);
  }
  return {.length = count, .bits = std::move(bits)};
}

ArrayParts list_of(ArrayParts items, std::span<const int64_t> splits) {
  ArrayParts list{.length = splits.size() - 1, .buffers = {splits.data()}};
  list.children.push_back(std::move(items));
  return list;
}

// `count` arrays of `shape`.
ArrayParts shaped(ArrayParts values, size_t count, std::span<const size_t> shape) {
  if (shape.empty()) return values;
  ArrayParts list{.length = count};
  list.children.push_back(shaped(std::move(values), count * shape.front(), shape.subspan(1)));
  return list;
}

// Blocks of the feature's shape.
ArrayParts block_column(const std::byte* data, size_t count, const OutputFeature& feature) {
  size_t numbers = count;
  for (const size_t dimension : feature.shape) numbers *= dimension;
  return shaped(block_array(data, numbers, feature), count, feature.shape);
}

template <FeatureKind kind, class Features>
ArrayParts column_of(const Features& columns, size_t rows, const OutputFeature& feature) {
  if (feature.form == FeatureForm::tensor || feature.form == FeatureForm::ragged_tensor) {
    const TensorColumn column = columns.tensor(feature.name);
    if (feature.form == FeatureForm::tensor) {
      return block_column(column.values.data(), rows, feature);
    }
    const auto items = static_cast<size_t>(column.row_splits.back());
    return list_of(block_column(column.values.data(), items, feature), column.row_splits);
  }
  if (feature.form == FeatureForm::ragged) {
    const auto column = columns.template ragged<kind>(feature.name);
    return list_of(array_of(column.values), column.row_splits);
  }
  const auto column = columns.template dense<kind>(feature.name);
  if constexpr (kind == FeatureKind::bytes) {
    if (feature.form == FeatureForm::raw) {
      return block_column(column.values.bytes(), rows, feature);
    }
  }
  return shaped(array_of(column.values), rows, feature.shape);
}

template <FeatureKind kind>
ArrayParts column_of(const FeatureListColumns& columns, size_t, const OutputFeature& feature) {
  if (is_block(feature.form)) {
    const TensorColumn column = columns.tensor(feature.name);
    const auto steps = static_cast<size_t>(column.row_splits.back());
    const bool is_ragged = !column.step_splits.empty();
    const size_t items = is_ragged ? static_cast<size_t>(column.step_splits.back()) : steps;
    ArrayParts values = block_column(column.values.data(), items, feature);
    if (is_ragged) values = list_of(std::move(values), column.step_splits);
    return list_of(std::move(values), column.row_splits);
  }
  if (feature.form == FeatureForm::fixed_sequence) {
    const auto column = columns.dense<kind>(feature.name);
    const auto steps = static_cast<size_t>(column.row_splits.back());
    return list_of(shaped(array_of(column.values), steps, column.shape), column.row_splits);
  }
  const auto column = columns.ragged<kind>(feature.name);
  return list_of(list_of(array_of(column.values), column.step_splits), column.row_splits);
}

ArrayParts column_of(const rlds::StepBatch& batch, const OutputFeature& feature) {
  if (is_block(feature.form)) {
    return block_column(batch.array(feature.name).bytes.data(), batch.rows, feature);
  }
  const BytesArray& values = batch.bytes(feature.name);
  return shaped({.length = values.size(), .buffers = {values.splits.data(), values.bytes.data()}},
                batch.rows, feature.shape);
}

template <class Features>
std::vector<Bits> presence_in(const Features& columns, const std::vector<OutputFeature>& features) {
  std::vector<Bits> presence;
  for (const OutputFeature& feature : features) {
    presence.push_back(feature.has_default ? Bits() : columns.validity(feature.name));
  }
  return presence;
}

template <class Features>
void add_columns(const Features& columns, const std::vector<OutputFeature>& features,
                 std::vector<Bits> presence, ArrayParts& root) {
  for (size_t i = 0; i < features.size(); ++i) {
    const OutputFeature& feature = features[i];
    ArrayParts column = feature.kind == FeatureKind::floats
                            ? column_of<FeatureKind::floats>(columns, root.length, feature)
                        : feature.kind == FeatureKind::int64s
                            ? column_of<FeatureKind::int64s>(columns, root.length, feature)
                            : column_of<FeatureKind::bytes>(columns, root.length, feature);
    column.validity = std::move(presence[i]);
    root.children.push_back(std::move(column));
  }
}

}  // namespace

Presence presence_of(const ParsedBatch& batch, const ParseSpec& spec) {
  if (spec.collator.steps()) return {};  // steps lack nothing
  if (!spec.collator.is_sequence()) return {presence_in(batch.example, spec.outputs), {}};
  return {presence_in(batch.sequence.context(), spec.outputs),
          presence_in(batch.sequence.feature_lists(), spec.feature_lists)};
}

void export_batch(std::unique_ptr<ParsedBatch> lent, std::shared_ptr<LeasePool> pool,
                  const ParseSpec& spec, Presence presence, ArrowArray& out) {
  const auto owner = std::make_shared<const Lease>(std::move(pool), std::move(lent));
  const ParsedBatch& batch = owner->batch();
  ArrayParts root;
  if (spec.collator.is_sequence()) {
    root.length = batch.sequence.size();
    add_columns(batch.sequence.context(), spec.outputs, std::move(presence.outputs), root);
    add_columns(batch.sequence.feature_lists(), spec.feature_lists,
                std::move(presence.feature_lists), root);
  } else if (spec.collator.steps()) {
    root.length = batch.steps.rows;
    for (const OutputFeature& column : spec.outputs) {
      root.children.push_back(column_of(batch.steps, column));
    }
  } else {
    root.length = batch.example.size();
    add_columns(batch.example, spec.outputs, std::move(presence.outputs), root);
  }
  export_array(std::move(root), owner, out);
}

}  // namespace recordpipe::python
