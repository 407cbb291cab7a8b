// The columns of a batch of Features: an Example's, or a SequenceExample's context.
//
// They are filled in two passes, because a ragged row has no place before the sizes of those before
// it are known. The first checks and measures a record, writes numbers of fixed shape, and notes
// where the rest is; rows may be done by several threads. The second, finish(), lays the rest out.
// The records' bytes must stay until then.
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
  // The column of feature `name`: FixedLen ones are dense, Ragged and VarLen ones ragged. Throws
  // Error{invalid_argument} where the schema has no such feature, or another kind or form of it.
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

  // How many rows are finished: 0 from reset to finish.
  size_t rows() const { return rows_; }

  // Starts a batch of `rows` rows; memory is kept from the one before.
  void reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows);
  // Reads one of the Features messages that make up the row together. Throws what WireReader does.
  void read(size_t row, WireReader features);
  // All of them have been read. Throws Error without a path: not_found where a feature is missing
  // that must be there, unsupported where one is of the wrong kind or number.
  void end_row(size_t row);
  // All rows have ended.
  void finish();

  // What it holds beside itself.
  uint64_t heap_bytes() const;

 private:
  struct Column {
    ValuesBuffer values;
    std::vector<int64_t> row_splits;  // where it is ragged
  };
  // Where a row's feature is in the record; of kind none where it is missing.
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
  std::vector<Column> columns_;  // one for each wanted feature
  std::vector<Found> found_;     // row by row
  size_t rows_ = 0;
  size_t rows_to_finish_ = 0;
};

}  // namespace recordpipe
