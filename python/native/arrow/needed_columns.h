// Columns that a whole table should not lack: a mistyped name would become a column of nulls.
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
  // `existing()` returns the names of the features that there are, for messages.
  NeededColumns(std::vector<std::string> required, std::vector<std::string> usual,
                SharedObject existing)
      : required_(std::move(required)), usual_(std::move(usual)), existing_(std::move(existing)) {}

  void note(const ParsedBatch& batch, const ParseSpec& spec, const Presence& presence);
  // If all rows that were noted, one at least, lack a column: throws Error{invalid_argument} for a
  // required one, else returns what a warning should say.
  std::string require() const;

 private:
  void note(const std::vector<OutputFeature>& features,
            const std::vector<std::vector<uint8_t>>& presence, size_t rows);
  std::string complaint(const std::string& name) const;

  // Those that are absent so far.
  std::vector<std::string> required_;
  std::vector<std::string> usual_;
  SharedObject existing_;
  bool has_rows_ = false;
};

}  // namespace recordpipe::python
