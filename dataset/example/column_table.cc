#include <string>

#include "dataset/base/require.h"
#include "dataset/example/column_helpers.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_columns.h"

namespace recordpipe {

size_t ColumnTable::find_column(std::string_view name, std::string_view what) const {
  const size_t i = wanted_ ? wanted_->find(name) : 0;
  if (i == columns_.size()) {
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "the schema has no " + std::string(what) + " '" + printable(name) + "'"});
  }
  return i;
}

size_t ColumnTable::find_column(std::string_view name, FeatureKind kind, bool fixed,
                                std::string_view fixed_form, std::string_view what) const {
  const size_t i = wanted_ ? wanted_->find(name) : 0;
  if (i == columns_.size() || (*wanted_)[i].kind != kind || (*wanted_)[i].fixed != fixed ||
      (*wanted_)[i].tensor || (*wanted_)[i].is_view != (fixed_form == kViewForm)) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the schema has no " + std::string(fixed ? fixed_form : "Ragged") + " " +
                           std::string(what) + " '" + printable(name) + "' of " +
                           std::string(to_string(kind))});
  }
  return i;
}

size_t ColumnTable::find_tensor(std::string_view name) const {
  const size_t i = wanted_ ? wanted_->find(name) : 0;
  require(i != columns_.size() && (*wanted_)[i].tensor,
          "the schema has no SerializedTensor '" + printable(name) + "'");
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

}  // namespace recordpipe
