#include "recordpipe/example/dict_batch.h"

#include <cstring>
#include <span>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

[[noreturn]] void refuse_batch(const std::string& path, const std::string& reason,
                               const std::string& hint = {}) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "can't batch \"" + printable(path) + "\": " + reason,
               .hint = hint});
}

using Rows = std::vector<DictValue*>;

// All rows as T.
template <class T>
std::vector<T*> rows_as(const Rows& rows, const std::string& path) {
  std::vector<T*> values;
  values.reserve(rows.size());
  for (DictValue* row : rows) {
    T* value = row->get_if<T>();
    if (!value) refuse_batch(path, "its rows are values of different kinds");
    values.push_back(value);
  }
  return values;
}

std::vector<size_t> prepend(size_t first, std::span<const size_t> shape) {
  std::vector<size_t> all{first};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

// The elements of all rows, one after the other.
void join(Array& out, const std::vector<Array*>& rows, const std::string& path) {
  const Array& first = *rows.front();
  size_t bytes = 0;
  for (const Array* row : rows) {
    if (row->type != first.type) {
      refuse_batch(path, "its rows have the types " + std::string(to_string(first.type)) + " and " +
                             std::string(to_string(row->type)));
    }
    bytes += row->bytes.size();
  }
  out.type = first.type;
  out.bytes.resize(bytes);
  size_t at = 0;
  for (const Array* row : rows) {
    if (!row->bytes.empty())
      std::memcpy(out.bytes.data() + at, row->bytes.data(), row->bytes.size());
    at += row->bytes.size();
  }
}

void join(BytesArray& out, const std::vector<BytesArray*>& rows, const std::string&) {
  out.bytes.clear();
  out.splits.assign(1, 0);
  for (const BytesArray* row : rows) {
    const auto shift = static_cast<int64_t>(out.bytes.size());
    out.bytes.insert(out.bytes.end(), row->bytes.begin(), row->bytes.end());
    for (const int64_t split : std::span(row->splits).subspan(1))
      out.splits.push_back(split + shift);
  }
}

template <class T>
void check_shapes(const std::vector<T*>& rows, size_t from, const std::string& path) {
  const std::vector<size_t>& shape = rows.front()->shape;
  const auto offset = static_cast<ptrdiff_t>(from);
  for (const T* row : rows) {
    const bool same =
        row->shape.size() == shape.size() && shape.size() >= from &&
        std::equal(row->shape.begin() + offset, row->shape.end(), shape.begin() + offset);
    if (!same) {
      refuse_batch(
          path, "its rows have the shapes " + shape_text(shape) + " and " + shape_text(row->shape),
          "make the shapes equal, or set the value's stacking to ragged or list");
    }
  }
}

template <class T>
void stack_dense(DictValue& out, const std::vector<T*>& rows, const std::string& path) {
  check_shapes(rows, 0, path);
  T& stacked = out.become<T>();
  stacked.shape = prepend(rows.size(), rows.front()->shape);
  join(stacked, rows, path);
}

template <class T>
T& values_of(RaggedArray& ragged) {
  if (T* values = std::get_if<T>(&ragged.values)) return *values;
  return ragged.values.emplace<T>();
}

template <class T>
void stack_ragged(DictValue& out, const std::vector<T*>& rows, const std::string& path) {
  check_shapes(rows, 1, path);
  RaggedArray& stacked = out.become<RaggedArray>();
  stacked.splits.resize(1);
  stacked.splits[0].assign(1, 0);
  for (const T* row : rows) {
    stacked.splits[0].push_back(stacked.splits[0].back() + static_cast<int64_t>(row->shape[0]));
  }
  T& values = values_of<T>(stacked);
  values.shape = rows.front()->shape;
  values.shape[0] = static_cast<size_t>(stacked.splits[0].back());
  join(values, rows, path);
}

template <class T>
void join_ragged_values(RaggedArray& out, const std::vector<RaggedArray*>& rows,
                        const std::string& path) {
  std::vector<T*> values;
  size_t items = 0;
  for (RaggedArray* row : rows) {
    values.push_back(std::get_if<T>(&row->values));
    if (!values.back()) refuse_batch(path, "its rows are values of different kinds");
  }
  check_shapes(values, 1, path);
  for (const T* each : values) items += each->shape[0];
  T& joined = values_of<T>(out);
  joined.shape = values.front()->shape;
  joined.shape[0] = items;
  join(joined, values, path);
}

void stack_ragged_rows(DictValue& out, const std::vector<RaggedArray*>& rows,
                       const std::string& path) {
  RaggedArray& stacked = out.become<RaggedArray>();
  const size_t depth = rows.front()->splits.size();
  stacked.splits.resize(depth + 1);
  for (auto& splits : stacked.splits) splits.assign(1, 0);
  for (const RaggedArray* row : rows) {
    if (row->splits.size() != depth)
      refuse_batch(path, "its rows have different numbers of dimensions");
    stacked.splits[0].push_back(stacked.splits[0].back() + static_cast<int64_t>(row->size()));
    for (size_t level = 0; level < depth; ++level) {
      auto& splits = stacked.splits[level + 1];
      const int64_t shift = splits.back();
      for (const int64_t split : std::span(row->splits[level]).subspan(1)) {
        splits.push_back(split + shift);
      }
    }
  }
  if (std::holds_alternative<Array>(rows.front()->values)) {
    join_ragged_values<Array>(stacked, rows, path);
  } else {
    join_ragged_values<BytesArray>(stacked, rows, path);
  }
}

void stack_dicts(Dict& out, const std::vector<Dict*>& rows, const std::string& path);

void stack_values(DictValue& out, const Rows& rows, const std::string& path) {
  const DictValue& first = *rows.front();
  for (const DictValue* row : rows) {
    if (row->stacking != first.stacking || row->is_optional != first.is_optional) {
      refuse_batch(path, "its rows differ in stacking or is_optional");
    }
  }
  out.stacking = first.stacking;
  out.is_optional = first.is_optional;
  if (first.empty()) refuse_batch(path, "it has no value");
  if (first.stacking == Stacking::list) {
    DictValue::List& list = out.become<DictValue::List>();
    list.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) std::swap(list[i], *rows[i]);
  } else if (first.get_if<Dict>()) {
    stack_dicts(out.become<Dict>(), rows_as<Dict>(rows, path), path);
  } else if (first.get_if<RaggedArray>()) {
    stack_ragged_rows(out, rows_as<RaggedArray>(rows, path), path);
  } else if (first.get_if<Array>()) {
    const auto arrays = rows_as<Array>(rows, path);
    first.stacking == Stacking::dense ? stack_dense(out, arrays, path)
                                      : stack_ragged(out, arrays, path);
  } else {
    const auto arrays = rows_as<BytesArray>(rows, path);
    first.stacking == Stacking::dense ? stack_dense(out, arrays, path)
                                      : stack_ragged(out, arrays, path);
  }
}

void stack_dicts(Dict& out, const std::vector<Dict*>& rows, const std::string& path) {
  const Dict& first = *rows.front();
  size_t position = 0;
  Rows values(rows.size());
  for (size_t i = 0; i < first.size(); ++i) {
    const DictEntry& entry = first.entries()[i];
    const std::string name = path.empty() ? entry.name : path + "/" + entry.name;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows[row]->size() != first.size() || rows[row]->entries()[i].name != entry.name) {
        refuse_batch(name, "not all rows have the same names in the same order");
      }
      values[row] = &rows[row]->entries()[i].value;
    }
    std::vector<bool> present;
    if (entry.value.is_optional) {
      for (const DictValue* value : values) present.push_back(!value->is_missing);
    }
    stack_values(out.place(position++, entry.name), values, name);
    if (present.empty()) continue;
    Array& mask = out.place(position++, entry.name + "_mask").become<Array>();
    mask.type = TensorType::boolean;
    mask.shape = {rows.size()};
    mask.bytes.resize(rows.size());
    for (size_t row = 0; row < rows.size(); ++row)
      mask.bytes[row] = std::byte{present[row] ? uint8_t{1} : uint8_t{0}};
  }
  out.truncate(position);
}

}  // namespace

void DictCollator::reset(DictBatch& batch, size_t rows) const {
  batch.rows = rows;
  batch.parts.resize(rows);
}

void DictCollator::set(DictBatch& batch, size_t row, Dict&& dict) const {
  std::swap(batch.parts[row], dict);
}

void DictCollator::finish(DictBatch& batch) const {
  std::vector<Dict*> rows;
  for (Dict& part : batch.parts) rows.push_back(&part);
  stack_dicts(batch.columns, rows, "");
}

uint64_t heap_bytes(const DictBatch& batch) {
  uint64_t bytes = heap_bytes(batch.columns) + batch.parts.capacity() * sizeof(Dict);
  for (const Dict& part : batch.parts) bytes += heap_bytes(part);
  return bytes;
}

}  // namespace recordpipe
