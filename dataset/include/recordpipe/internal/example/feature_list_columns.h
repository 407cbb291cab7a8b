// The columns of a batch of FeatureLists (the per-step values of SequenceExamples), filled in two
// passes as in feature_columns.h.
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
  // The column of feature list `name`: dense() for FixedLenSequence, ragged() for Ragged and
  // VarLen. Both throw Error{invalid_argument} if the schema has no list of this name, kind and
  // form.
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

  // The number of rows; 0 between reset() and finish().
  size_t rows() const { return rows_; }

  // Starts a batch of `rows` rows; keeps the memory of the previous batch.
  void reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows);
  // Reads one FeatureLists message of the row; a record may have several, which protobuf merges.
  // Throws the errors of WireReader.
  void read(size_t row, WireReader feature_lists);
  // Ends the row, after all its messages were read. Throws Error without a path: not_found if a
  // required list is missing, unsupported if a step has the wrong kind or number of values.
  void end_row(size_t row);
  // Builds the columns, after all rows have ended.
  void finish();

  // Allocated memory, in bytes.
  uint64_t heap_bytes() const;

 private:
  struct Column {
    ValuesBuffer values;
    std::vector<int64_t> step_splits;  // ragged steps only
    std::vector<int64_t> row_splits;
  };
  // The position of a row's list in the record, and its size.
  struct Found {
    std::span<const std::byte> entry;
    bool missing = true;
    size_t steps = 0;
    size_t values = 0;
    size_t bytes = 0;  // total size of bytes values
  };

  size_t find_column(std::string_view name, FeatureKind kind, bool fixed) const;
  void lay_out(const WantedFeature& feature, std::span<const Found> found, Column& column);
  std::span<Found> found_in(size_t row) {
    return std::span(found_).subspan(row * columns_.size(), columns_.size());
  }

  std::shared_ptr<const WantedFeatures> wanted_;
  std::vector<Column> columns_;  // one per wanted list
  std::vector<Found> found_;     // row-major: [row][list]
  size_t rows_ = 0;
  size_t rows_to_finish_ = 0;
};

}  // namespace recordpipe
