// Columns that a whole table may not lack: a mistyped name would become a column of nulls.
#pragma once

#include <string>
#include <vector>

#include "python/native/arrow/arrow_array.h"
#include "python/native/dataset/parse_spec.h"
#include "python/native/dataset/parsed_batch.h"
#include "python/native/values/python_object.h"

namespace recordpipe::python {

class NeededColumns {
 public:
  // `existing()` returns the names of the features that there are, for the error.
  NeededColumns(std::vector<std::string> names, SharedObject existing)
      : absent_(std::move(names)), existing_(std::move(existing)) {}

  void note(const ParsedBatch& batch, const ParseSpec& spec, const Presence& presence);
  // Throws Error{invalid_argument} if all rows that were noted, one at least, lack a column.
  void require() const;

 private:
  void note(const std::vector<OutputFeature>& features,
            const std::vector<std::vector<uint8_t>>& presence, size_t rows);

  std::vector<std::string> absent_;  // so far
  SharedObject existing_;
  bool has_rows_ = false;
};

}  // namespace recordpipe::python
