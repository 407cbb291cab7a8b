#include "recordpipe/internal/example/feature_columns.h"

#include <string>

#include "recordpipe/error.h"

namespace recordpipe {
namespace {

// Whether the positions of the values are known in advance: numbers of a fixed shape.
bool has_place(const WantedFeature& feature) {
  return feature.fixed && feature.kind != FeatureKind::bytes;
}

auto pieces_of(std::span<const std::byte> entry) {
  return [entry](auto on_piece) { read_entry_value(entry, on_piece); };
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
}

}  // namespace

void FeatureColumns::reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows) {
  rows_ = 0;
  rows_to_finish_ = rows;
  if (wanted_ != wanted) {
    wanted_ = wanted;
    columns_.assign(wanted->size(), {});
    for (size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].values.resize((*wanted)[i].kind, 0, 0);
      columns_[i].row_splits.assign(1, 0);
    }
  }
  found_.assign(rows * columns_.size(), {});
  for (size_t i = 0; i < columns_.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    if (has_place(feature)) columns_[i].values.resize(feature.kind, rows * feature.size, 0);
  }
}

void FeatureColumns::read(size_t row, WireReader features) {
  const std::span<Found> found = found_in(row);
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
  const std::span<const Found> found = found_in(row);
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
    if (has_place(feature)) continue;
    // `found_` is empty if there are no rows.
    lay_out(feature, std::span<const Found>(found_).subspan(std::min(i, found_.size())),
            columns_[i]);
  }
  rows_ = rows_to_finish_;
}

// `found` begins with the feature's entry of the first row; its stride is columns_.size().
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

size_t FeatureColumns::find_column(std::string_view name, FeatureKind kind, bool fixed) const {
  const size_t i = wanted_ ? wanted_->find(name) : 0;
  if (i == columns_.size() || (*wanted_)[i].kind != kind || (*wanted_)[i].fixed != fixed) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the schema has no " + std::string(fixed ? "FixedLen" : "Ragged") +
                           " feature '" + printable(name) + "' of " +
                           std::string(to_string(kind))});
  }
  return i;
}

uint64_t FeatureColumns::heap_bytes() const {
  uint64_t bytes = columns_.capacity() * sizeof(Column) + found_.capacity() * sizeof(Found);
  for (const Column& column : columns_) {
    bytes += column.values.heap_bytes();
    bytes += column.row_splits.capacity() * sizeof(int64_t);
  }
  return bytes;
}

}  // namespace recordpipe
