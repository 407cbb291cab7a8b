#include <algorithm>
#include <string>

#include "dataset/example/column_helpers.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/example/feature_columns.h"

namespace recordpipe {
namespace {

template <typename Found>
std::span<Found> in_row(std::vector<Found>& found, size_t row, size_t columns) {
  return std::span(found).subspan(row * columns, columns);
}

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
                 .hint = "declare it ragged if the number varies"});
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
      if (feature.utf8 && !holds_utf8([&](auto on_piece) { on_piece(step); })) {
        refuse_text("feature list", feature);
      }
      ++list.steps;
      list.values += size.values;
      list.bytes += size.bytes;
    });
  }
}

void FeatureListColumns::finish() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    lay_out((*wanted_)[i], std::span<const Found>(found_).subspan(std::min(i, found_.size())),
            columns_[i]);
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
  if (!feature.fixed) {
    column.step_splits.resize(all.steps + 1);
    column.step_splits[0] = 0;
  }
  column.row_splits.resize(rows_to_finish_ + 1);
  column.row_splits[0] = 0;
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

std::vector<uint8_t> FeatureListColumns::validity(std::string_view name) const {
  const size_t column = find_column(name, "feature list");
  return validity_of(std::span(found_).subspan(std::min(column, found_.size())), rows_,
                     columns_.size(), [](const Found& found) { return found.missing; });
}

uint64_t FeatureListColumns::heap_bytes() const {
  return ColumnTable::heap_bytes() + found_.capacity() * sizeof(Found);
}

}  // namespace recordpipe
