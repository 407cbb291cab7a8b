#include "recordpipe/internal/example/feature_columns.h"

#include <algorithm>
#include <string>

#include "recordpipe/columns.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

// As the form of a column, the features that have none.
constexpr std::string_view kViewForm = "view";

// Whether the positions of the values are known in advance, because they are numbers in a fixed
// shape.
bool has_place(const WantedFeature& feature) {
  return feature.fixed && feature.kind != FeatureKind::bytes;
}

auto pieces_of(std::span<const std::byte> entry) {
  return [entry](auto on_piece) { read_entry_value(entry, on_piece); };
}

template <typename Found>
std::span<Found> in_row(std::vector<Found>& found, size_t row, size_t columns) {
  return std::span(found).subspan(row * columns, columns);
}

void check(const WantedFeature& feature, const FeatureSize& size) {
  const auto name = [&] { return "feature '" + printable(feature.name) + "' "; };
  if (size.kind == FeatureKind::none) {
    if (!feature.required) return;
    throw Error({.kind = ErrorKind::not_found,
                 .reason = name() + "is missing",
                 .hint = "add default values to the schema if the feature is optional"});
  }
  if (size.kind != feature.kind) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name() + "holds " + std::string(to_string(size.kind)) + ", not " +
                           std::string(to_string(feature.kind))});
  }
  if (feature.fixed && size.values != feature.size) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name() + "holds " + std::to_string(size.values) + " values, not " +
                           std::to_string(feature.size),
                 .hint = "use Ragged in the schema if the number varies"});
  }
  if (feature.value_bytes && size.bytes != *feature.value_bytes) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name() + "holds " + std::to_string(size.bytes) + " bytes, not " +
                           std::to_string(*feature.value_bytes)});
  }
}

}  // namespace

size_t ColumnTable::find_column(std::string_view name, FeatureKind kind, bool fixed,
                                std::string_view fixed_form, std::string_view what) const {
  const size_t i = wanted_ ? wanted_->find(name) : 0;
  if (i == columns_.size() || (*wanted_)[i].kind != kind || (*wanted_)[i].fixed != fixed ||
      (*wanted_)[i].is_view != (fixed_form == kViewForm)) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the schema has no " + std::string(fixed ? fixed_form : "Ragged") + " " +
                           std::string(what) + " '" + printable(name) + "' of " +
                           std::string(to_string(kind))});
  }
  return i;
}

bool ColumnTable::start(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows) {
  rows_ = 0;
  rows_to_finish_ = rows;
  if (wanted_ == wanted) return false;
  wanted_ = wanted;
  columns_.assign(wanted->size(), {});
  for (size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].values.resize((*wanted)[i].kind, 0, 0);
    columns_[i].row_splits.assign(1, 0);
  }
  return true;
}

uint64_t ColumnTable::heap_bytes() const {
  uint64_t bytes = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) {
    bytes += column.values.heap_bytes();
    bytes += (column.step_splits.capacity() + column.row_splits.capacity()) * sizeof(int64_t);
  }
  return bytes;
}

std::span<const std::byte> FeatureColumns::view(size_t row, std::string_view name) const {
  const size_t i = find_column(name, FeatureKind::bytes, /*fixed=*/true, kViewForm, "feature");
  std::span<const std::byte> value;
  read_entry_value(found_[row * columns_.size() + i].entry, [&](WireReader feature) {
    read_values<FeatureKind::bytes>(
        feature, [] {}, [&](std::span<const std::byte> bytes) { value = bytes; });
  });
  return value;
}

void FeatureColumns::reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows) {
  start(wanted, rows);
  found_.assign(rows * columns_.size(), {});
  for (size_t i = 0; i < columns_.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    if (has_place(feature)) columns_[i].values.resize(feature.kind, rows * feature.size, 0);
  }
}

void FeatureColumns::read(size_t row, WireReader features) {
  const std::span<Found> found = in_row(found_, row, columns_.size());
  size_t guess = 0;
  read_features(features, [&](std::string_view key, std::span<const std::byte> entry,
                              const FeatureSize& size) {
    const size_t i = wanted_->find(key, guess);
    if (i == found.size()) return;
    found[i] = {entry, size};
    guess = i + 1;
  });
}

void FeatureColumns::end_row(size_t row) {
  const std::span<const Found> found = in_row(found_, row, columns_.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    check(feature, found[i].size);
    if (!has_place(feature)) continue;
    const ValuesBuffer::Place place{.value = row * feature.size};
    if (found[i].size.kind == FeatureKind::none) {
      columns_[i].values.write(place, feature.default_values);
    } else {
      columns_[i].values.write(feature.kind, place, place.value + feature.size,
                               pieces_of(found[i].entry));
    }
  }
}

void FeatureColumns::finish() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    if (has_place(feature) || feature.is_view) continue;
    // `found_` is empty if there are no rows.
    lay_out(feature, std::span<const Found>(found_).subspan(std::min(i, found_.size())),
            columns_[i]);
  }
  rows_ = rows_to_finish_;
}

// `found` begins with the feature's entry for the first row; the stride between rows is
// columns_.size().
void FeatureColumns::lay_out(const WantedFeature& feature, std::span<const Found> found,
                             Column& column) {
  const size_t default_bytes = bytes_of(feature.default_values);
  const auto in_row = [&](size_t row) -> const Found& { return found[row * columns_.size()]; };
  size_t values = 0;
  size_t bytes = 0;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    const FeatureSize& size = in_row(row).size;
    const bool missing = size.kind == FeatureKind::none;
    values += feature.fixed ? feature.size : size.values;
    bytes += missing ? default_bytes : size.bytes;
  }
  column.values.resize(feature.kind, values, bytes);
  column.row_splits.resize(rows_to_finish_ + 1);
  ValuesBuffer::Place place;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    place = in_row(row).size.kind == FeatureKind::none
                ? column.values.write(place, feature.default_values)
                : column.values.write(feature.kind, place, values, pieces_of(in_row(row).entry));
    column.row_splits[row + 1] = static_cast<int64_t>(place.value);
  }
}

uint64_t FeatureColumns::heap_bytes() const {
  return ColumnTable::heap_bytes() + found_.capacity() * sizeof(Found);
}

namespace {

// Calls on_step(feature) for each step of the list in a validated map entry. The pieces of a split
// list are concatenated.
template <typename OnStep>
void read_steps(std::span<const std::byte> entry, OnStep on_step) {
  read_entry_value(entry,
                   [&](WireReader list) { read_messages(list, kFeatureListFeature, on_step); });
}

std::string name_of(const WantedFeature& feature) {
  return "feature list '" + printable(feature.name) + "'";
}

// A step of kind none has no values.
void check_step(const WantedFeature& feature, size_t step, const FeatureSize& size) {
  if (size.kind != feature.kind && size.kind != FeatureKind::none) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name_of(feature) + " holds " + std::string(to_string(size.kind)) +
                           ", not " + std::string(to_string(feature.kind)) + ", at step " +
                           std::to_string(step)});
  }
  if (feature.fixed && size.values != feature.size) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name_of(feature) + " holds " + std::to_string(size.values) +
                           " values, not " + std::to_string(feature.size) + ", at step " +
                           std::to_string(step),
                 .hint = "use Ragged in the schema if the number varies"});
  }
}

}  // namespace

void FeatureListColumns::reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows) {
  if (start(wanted, rows)) {
    for (Column& column : columns_) column.step_splits.assign(1, 0);
  }
  found_.assign(rows * columns_.size(), {});
}

void FeatureListColumns::read(size_t row, WireReader feature_lists) {
  const std::span<Found> found = in_row(found_, row, columns_.size());
  size_t guess = 0;
  read_messages(feature_lists, kFeatureListsEntry, [&](WireReader entry) {
    const std::string_view key = check_entry(entry, [](WireReader list) {
      read_messages(list, kFeatureListFeature, [](WireReader step) { FeatureSize().add(step); });
    });
    const size_t i = wanted_->find(key, guess);
    if (i == found.size()) return;
    found[i] = {.entry = entry.rest(), .missing = false};
    guess = i + 1;
  });
}

void FeatureListColumns::end_row(size_t row) {
  const std::span<Found> found = in_row(found_, row, columns_.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    Found& list = found[i];
    if (list.missing && feature.required) {
      throw Error({.kind = ErrorKind::not_found,
                   .reason = name_of(feature) + " is missing",
                   .hint = "set allow_missing in the schema if the list is optional"});
    }
    read_steps(list.entry, [&](WireReader step) {
      FeatureSize size;
      size.add(step);
      check_step(feature, list.steps, size);
      ++list.steps;
      list.values += size.values;
      list.bytes += size.bytes;
    });
  }
}

void FeatureListColumns::finish() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    lay_out((*wanted_)[i], std::span<const Found>(found_).subspan(i), columns_[i]);
  }
  rows_ = rows_to_finish_;
}

// `found` begins with the list's entry for the first row; the stride between rows is
// columns_.size().
void FeatureListColumns::lay_out(const WantedFeature& feature, std::span<const Found> found,
                                 Column& column) {
  const auto in_row = [&](size_t row) -> const Found& { return found[row * columns_.size()]; };
  Found all;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    all.steps += in_row(row).steps;
    all.values += in_row(row).values;
    all.bytes += in_row(row).bytes;
  }
  column.values.resize(feature.kind, all.values, all.bytes);
  if (!feature.fixed) column.step_splits.resize(all.steps + 1);
  column.row_splits.resize(rows_to_finish_ + 1);
  ValuesBuffer::Place place;
  size_t steps = 0;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    read_steps(in_row(row).entry, [&](WireReader step) {
      place = column.values.write(feature.kind, place, all.values,
                                  [&](auto on_piece) { on_piece(step); });
      ++steps;
      if (!feature.fixed) column.step_splits[steps] = static_cast<int64_t>(place.value);
    });
    column.row_splits[row + 1] = static_cast<int64_t>(steps);
  }
}

uint64_t FeatureListColumns::heap_bytes() const {
  return ColumnTable::heap_bytes() + found_.capacity() * sizeof(Found);
}

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
