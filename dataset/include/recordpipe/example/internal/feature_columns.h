// Builds the columns of a batch from Features and from FeatureLists.
//
// The columns are filled in two passes, because the position of a ragged row depends on the sizes
// of all rows before it. The first pass validates and measures a record, writes numbers of fixed
// shape, and remembers the positions of all other values; several threads may process rows. The
// second pass, finish(), copies the other values. Writers repeat the order of their features, so
// the first pass expects after each feature the one that followed it in the row before. The bytes
// of the records must stay valid until the second pass has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/base/internal/aligned_allocator.h"
#include "recordpipe/example/columns.h"
#include "recordpipe/example/internal/feature_reader.h"
#include "recordpipe/example/internal/values_buffer.h"
#include "recordpipe/example/internal/wanted_features.h"

namespace recordpipe {

// The common base class of FeatureColumns and FeatureListColumns.
class ColumnTable {
 public:
  // The number of rows; 0 between reset() and finish().
  size_t rows() const { return rows_; }

 protected:
  struct Column {
    ValuesBuffer values;
    internal::AlignedVector<int64_t> step_splits;  // of lists with ragged steps only
    internal::AlignedVector<int64_t> row_splits;   // of ragged features, and of lists
  };

  // `fixed_form` and `what` are the schema's words for a fixed column, for example "FixedLen" and
  // "feature".
  size_t find_column(std::string_view name, FeatureKind kind, bool fixed,
                     std::string_view fixed_form, std::string_view what) const;
  // The column `name`, of any kind and form.
  size_t find_column(std::string_view name, std::string_view what) const;
  // The column of SerializedTensor `name`.
  size_t find_tensor(std::string_view name) const;
  // Starts a batch; keeps the memory of the previous batch. Returns whether the set of columns has
  // changed.
  bool start(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows);
  uint64_t heap_bytes() const;

  std::shared_ptr<const WantedFeatures> wanted_;
  std::vector<Column> columns_;  // one per wanted feature or list
  size_t rows_ = 0;
  size_t rows_to_finish_ = 0;
};

// The columns of Features: of Examples, or of the contexts of SequenceExamples.
class FeatureColumns : public ColumnTable {
 public:
  // Return the column of feature `name`: dense() for FixedLen, ragged() for Ragged and VarLen. Both
  // functions throw Error{invalid_argument} if the schema has no feature with this name, kind and
  // form.
  template <FeatureKind kind>
  DenseColumn<kind> dense(std::string_view name) const {
    const size_t i = find_column(name, kind, /*fixed=*/true, "FixedLen", "feature");
    const WantedFeature& feature = (*wanted_)[i];
    return {columns_[i].values.values<kind>(rows_ * feature.size), feature.shape, feature.size};
  }
  template <FeatureKind kind>
  RaggedColumn<kind> ragged(std::string_view name) const {
    const Column& column =
        columns_[find_column(name, kind, /*fixed=*/false, "FixedLen", "feature")];
    const auto splits = std::span(column.row_splits).first(rows_ + 1);
    return {column.values.values<kind>(static_cast<size_t>(splits.back())), splits};
  }
  // Returns the column of SerializedTensor `name`, or throws the same error.
  TensorColumn tensor(std::string_view name) const;

  // Which rows have the feature, as in Arrow: row i has it if bit i % 8 of byte i / 8 is 1. Empty
  // if all rows have it. Throws Error{invalid_argument} if the schema has no feature `name`.
  std::vector<uint8_t> validity(std::string_view name) const;
  // Exchanges the memory that only the building of columns and validity() need.
  void exchange_scratch(FeatureColumns& other) noexcept {
    states_.swap(other.states_);
    found_.swap(other.found_);
  }

  // Returns the value of a feature with is_view, which points into the record. Between Row::end()
  // and finish(); throws Error{invalid_argument} for another feature.
  std::span<const std::byte> view(size_t row, std::string_view name) const;

  // Starts a batch of `rows` rows; keeps the memory of the previous batch.
  void reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows);
  // Reads a row; see below.
  class Row;
  // Builds the columns. Must be called after all rows have ended.
  void finish();

  // Allocated memory, in bytes.
  uint64_t heap_bytes() const;

 private:
  enum class State : uint8_t { missing = 0, found = 1, wrong = 2 };
  // Where the values of a feature go.
  struct Target {
    bool has_place = false;  // the positions of the values are known in advance
    size_t slot = 0;         // in `found_`, otherwise
  };
  // The values of a row's feature in the record.
  struct Found {
    // If plain, the packed numbers or the bytes value, otherwise the map entry.
    std::span<const std::byte> bytes;
    bool is_plain = true;
    size_t values = 0;
    size_t value_bytes = 0;  // total size of bytes values
  };

  std::span<State> states(size_t row) {
    return std::span(states_).subspan(row * columns_.size(), columns_.size());
  }
  Found& found(size_t row, size_t feature) { return found_[row * slots_ + targets_[feature].slot]; }
  void read_tensor(size_t row, size_t feature);
  void lay_out(const WantedFeature& feature, size_t slot, Column& column);
  void lay_out_tensors(const WantedFeature& feature, size_t slot, Column& column);

  std::vector<Target> targets_;  // one per wanted feature
  std::vector<size_t> checked_;  // the features with more to check when their row ends
  std::vector<uint32_t> next_;   // the feature that came last after feature i; the last: at first
  size_t slots_ = 0;             // the number of features without place
  std::vector<State> states_;    // row-major: [row][feature]
  std::vector<Found> found_;     // row-major: [row][slot]
};

// Reads one row. A record may have several Features messages, which protobuf merges.
class FeatureColumns::Row {
 public:
  Row(FeatureColumns& columns, size_t row)
      : columns_(columns),
        row_(row),
        states_(columns.states(row)),
        previous_(columns.columns_.size()) {}
  // Throws the errors of WireReader.
  void read(WireReader features);
  // Must be called after all messages were read. Throws Error without a path: not_found if a
  // required feature is missing, unsupported if a feature has the wrong kind or number of values,
  // or a tensor the wrong type or shape; for tensors, the errors of parse_tensor().
  void end();
  // What UnlistedFeatures has to count in this record.
  const std::vector<std::string>& unlisted() const { return unlisted_; }
  // Whether the record has a wanted feature. After end().
  bool has_any() const { return has_any_; }
  // false: the messages may have had fields other than features (message_fields.h).
  bool is_usual() const { return is_usual_; }

 private:
  struct Wrong {
    size_t feature;
    FeatureSize size;
  };

  size_t find(std::string_view key);
  bool take(const PlainEntry& plain);
  void take(std::string_view key, std::span<const std::byte> entry, const FeatureSize& size);
  void meet(std::string_view key);
  void end(size_t feature);

  FeatureColumns& columns_;
  size_t row_;
  std::span<State> states_;   // one per feature
  size_t previous_;           // the feature that was found last
  std::vector<Wrong> wrong_;  // the sizes of features in state `wrong`
  std::vector<std::string> unlisted_;
  bool has_any_ = false;
  bool is_usual_ = true;
};

// The columns of FeatureLists: the per-step values of SequenceExamples.
class FeatureListColumns : public ColumnTable {
 public:
  // Return the column of feature list `name`: dense() for FixedLenSequence, ragged() for Ragged and
  // VarLen. Both functions throw Error{invalid_argument} if the schema has no list with this name,
  // kind and form.
  template <FeatureKind kind>
  RaggedColumn<kind> dense(std::string_view name) const {
    const size_t i = find_column(name, kind, /*fixed=*/true, "FixedLenSequence", "feature list");
    const WantedFeature& feature = (*wanted_)[i];
    const auto splits = std::span(columns_[i].row_splits).first(rows_ + 1);
    const size_t values = static_cast<size_t>(splits.back()) * feature.size;
    return {columns_[i].values.values<kind>(values), splits, feature.shape, feature.size};
  }
  template <FeatureKind kind>
  NestedRaggedColumn<kind> ragged(std::string_view name) const {
    const Column& column =
        columns_[find_column(name, kind, /*fixed=*/false, "FixedLenSequence", "feature list")];
    const auto splits = std::span(column.row_splits).first(rows_ + 1);
    const auto steps = std::span(column.step_splits).first(static_cast<size_t>(splits.back()) + 1);
    return {column.values.values<kind>(static_cast<size_t>(steps.back())), steps, splits};
  }

  // Like the functions of FeatureColumns.
  std::vector<uint8_t> validity(std::string_view name) const;
  void exchange_scratch(FeatureListColumns& other) noexcept { found_.swap(other.found_); }

  // The column of SerializedTensor `name`, or throws the same error.
  TensorColumn tensor(std::string_view name) const;

  // Like the functions of FeatureColumns. read() reads one FeatureLists message, adds to `unlisted`
  // what UnlistedFeatures has to count, and returns Row::is_usual(); end_row() throws not_found if
  // a required list is missing, unsupported if a step has the wrong kind or number of values, or a
  // tensor the wrong type or shape.
  void reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows);
  bool read(size_t row, WireReader feature_lists, std::vector<std::string>& unlisted);
  void end_row(size_t row);
  bool has_any(size_t row) const;
  void finish();
  uint64_t heap_bytes() const;

 private:
  // A row's list.
  struct Found {
    // If plain, the steps, which were measured when they were read. Otherwise the map entry, which
    // is measured at the end of the row.
    std::span<const std::byte> bytes;
    bool missing = true;
    bool is_plain = false;
    FeatureListSize size = {};
  };

  std::span<Found> in_row(size_t row) {
    return std::span(found_).subspan(row * columns_.size(), columns_.size());
  }
  template <FeatureKind kind>
  void lay_out(const WantedFeature& feature, std::span<const Found> found, Column& column);
  void lay_out_tensors(const WantedFeature& feature, std::span<const Found> found, Column& column);

  std::vector<Found> found_;  // row-major: [row][list]
};

}  // namespace recordpipe
