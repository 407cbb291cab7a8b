// The columns of a batch of Features: of Examples, or of the contexts of SequenceExamples.
//
// The columns are filled in two passes, because the position of a ragged row depends on the sizes
// of all rows before it. The first pass validates and measures a record, writes numbers of fixed
// shape, and remembers the positions of all other values; several threads may process rows. The
// second pass, finish(), copies the other values. The bytes of the records must stay valid until
// then.
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

class FeatureColumns {
 public:
  // The column of feature `name`: dense() for FixedLen, ragged() for Ragged and VarLen. Both throw
  // Error{invalid_argument} if the schema has no feature of this name, kind and form.
  template <FeatureKind kind>
  DenseColumn<kind> dense(std::string_view name) const {
    const size_t i = find_column(name, kind, /*fixed=*/true);
    const WantedFeature& feature = (*wanted_)[i];
    return {columns_[i].values.values<kind>(rows_ * feature.size), feature.shape, feature.size};
  }
  template <FeatureKind kind>
  RaggedColumn<kind> ragged(std::string_view name) const {
    const Column& column = columns_[find_column(name, kind, /*fixed=*/false)];
    const auto splits = std::span(column.row_splits).first(rows_ + 1);
    return {column.values.values<kind>(static_cast<size_t>(splits.back())), splits};
  }

  // The number of rows; 0 between reset() and finish().
  size_t rows() const { return rows_; }

  // Starts a batch of `rows` rows; keeps the memory of the previous batch.
  void reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows);
  // Reads one Features message of the row; a record may have several, which protobuf merges. Throws
  // the errors of WireReader.
  void read(size_t row, WireReader features);
  // Ends the row, after all its messages were read. Throws Error without a path: not_found if a
  // required feature is missing, unsupported if a feature has the wrong kind or number of values.
  void end_row(size_t row);
  // Builds the columns, after all rows have ended.
  void finish();

  // Allocated memory, in bytes.
  uint64_t heap_bytes() const;

 private:
  struct Column {
    ValuesBuffer values;
    std::vector<int64_t> row_splits;  // ragged columns only
  };
  // The position of a row's feature in the record; kind none if the feature is missing.
  struct Found {
    std::span<const std::byte> entry;
    FeatureSize size;
  };

  size_t find_column(std::string_view name, FeatureKind kind, bool fixed) const;
  void lay_out(const WantedFeature& feature, std::span<const Found> found, Column& column);
  std::span<Found> found_in(size_t row) {
    return std::span(found_).subspan(row * columns_.size(), columns_.size());
  }

  std::shared_ptr<const WantedFeatures> wanted_;
  std::vector<Column> columns_;  // one per wanted feature
  std::vector<Found> found_;     // row-major: [row][feature]
  size_t rows_ = 0;
  size_t rows_to_finish_ = 0;
};

}  // namespace recordpipe
