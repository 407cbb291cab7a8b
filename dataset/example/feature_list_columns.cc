#include "recordpipe/internal/example/feature_list_columns.h"

#include <string>

#include "recordpipe/error.h"

namespace recordpipe {
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
  rows_ = 0;
  rows_to_finish_ = rows;
  if (wanted_ != wanted) {
    wanted_ = wanted;
    columns_.assign(wanted->size(), {});
    for (size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].values.resize((*wanted)[i].kind, 0, 0);
      columns_[i].step_splits.assign(1, 0);
      columns_[i].row_splits.assign(1, 0);
    }
  }
  found_.assign(rows * columns_.size(), {});
}

void FeatureListColumns::read(size_t row, WireReader feature_lists) {
  const std::span<Found> found = found_in(row);
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
  const std::span<Found> found = found_in(row);
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

// `found` begins with the list's entry of the first row; its stride is columns_.size().
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

size_t FeatureListColumns::find_column(std::string_view name, FeatureKind kind, bool fixed) const {
  const size_t i = wanted_ ? wanted_->find(name) : 0;
  if (i == columns_.size() || (*wanted_)[i].kind != kind || (*wanted_)[i].fixed != fixed) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the schema has no " +
                           std::string(fixed ? "FixedLenSequence" : "Ragged") + " feature list '" +
                           printable(name) + "' of " + std::string(to_string(kind))});
  }
  return i;
}

uint64_t FeatureListColumns::heap_bytes() const {
  uint64_t bytes = columns_.capacity() * sizeof(Column) + found_.capacity() * sizeof(Found);
  for (const Column& column : columns_) {
    bytes += column.values.heap_bytes();
    bytes += (column.step_splits.capacity() + column.row_splits.capacity()) * sizeof(int64_t);
  }
  return bytes;
}

}  // namespace recordpipe
