// The columns of a batch of FeatureLists: what a SequenceExample holds for each of its steps.
// Filled in two passes, as feature_columns.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "recordpipe/columns.h"
#include "recordpipe/internal/example/feature_reader.h"
#include "recordpipe/internal/example/values_buffer.h"
#include "recordpipe/internal/example/wanted_features.h"

namespace recordpipe {

class FeatureListColumns {
 public:
  // The column of feature list `name`: FixedLenSequence ones are dense in each step, Ragged and
  // VarLen ones ragged there. Throws Error{invalid_argument} where the schema has no such list, or
  // another kind or form of it.
  template <FeatureKind kind>
  RaggedColumn<kind> dense(std::string_view name) const {
    const size_t i = find_column(name, kind, /*fixed=*/true);
    const WantedFeature& feature = (*wanted_)[i];
    const auto splits = std::span(columns_[i].row_splits).first(rows_ + 1);
    const size_t values = static_cast<size_t>(splits.back()) * feature.size;
    return {columns_[i].values.values<kind>(values), splits, feature.shape, feature.size};
  }
  template <FeatureKind kind>
  NestedRaggedColumn<kind> ragged(std::string_view name) const {
    const Column& column = columns_[find_column(name, kind, /*fixed=*/false)];
    const auto splits = std::span(column.row_splits).first(rows_ + 1);
    const auto steps = std::span(column.step_splits).first(static_cast<size_t>(splits.back()) + 1);
    return {column.values.values<kind>(static_cast<size_t>(steps.back())), steps, splits};
  }

  // How many rows are finished: 0 from reset to finish.
  size_t rows() const { return rows_; }

  // Starts a batch of `rows` rows; memory is kept from the one before.
  void reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows);
  // Reads one of the FeatureLists messages that make up the row together. Throws what WireReader
  // does.
  void read(size_t row, WireReader feature_lists);
  // All of them have been read. Throws Error without a path: not_found where a list is missing that
  // must be there, unsupported where a step of one is of the wrong kind or number.
  void end_row(size_t row);
  // All rows have ended.
  void finish();

  // What it holds beside itself.
  uint64_t heap_bytes() const;

 private:
  struct Column {
    ValuesBuffer values;
    std::vector<int64_t> step_splits;  // where steps are ragged
    std::vector<int64_t> row_splits;
  };
  // Where a row's list is in the record.
  struct Found {
    std::span<const std::byte> entry;
    bool missing = true;
    size_t steps = 0;
    size_t values = 0;
    size_t bytes = 0;  // in all values together, where they are bytes
  };

  size_t find_column(std::string_view name, FeatureKind kind, bool fixed) const;
  void lay_out(const WantedFeature& feature, std::span<const Found> found, Column& column);
  std::span<Found> found_in(size_t row) {
    return std::span(found_).subspan(row * columns_.size(), columns_.size());
  }

  std::shared_ptr<const WantedFeatures> wanted_;
  std::vector<Column> columns_;  // one for each wanted list
  std::vector<Found> found_;     // row by row
  size_t rows_ = 0;
  size_t rows_to_finish_ = 0;
};

}  // namespace recordpipe
