#include "python/native/arrow/needed_columns.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dataset/base/names_in_words.h"
#include "python/native/arrow/arrow_buffers.h"
#include "python/native/interpreter/gil.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {

void NeededColumns::note(const ParsedBatch& batch, const ParseSpec& spec,
                         const Presence& presence) {
  const size_t rows = spec.collator.is_sequence() ? batch.sequence.size() : batch.example.size();
  note(spec.outputs, presence.outputs, rows);
  note(spec.feature_lists, presence.feature_lists, rows);
  has_rows_ = true;
}

// A column without bits is present in all rows.
void NeededColumns::note(const std::vector<OutputFeature>& features,
                         const std::vector<std::vector<uint8_t>>& presence, size_t rows) {
  for (size_t i = 0; i < presence.size() && !(required_.empty() && usual_.empty()); ++i) {
    bool is_present = presence[i].empty();
    for (size_t row = 0; row < rows && !is_present; ++row) {
      is_present = bit(presence[i].data(), static_cast<int64_t>(row));
    }
    if (!is_present) continue;
    std::erase(required_, features[i].name);
    std::erase(usual_, features[i].name);
  }
}

std::string NeededColumns::require() const {
  if (has_rows_ && !required_.empty()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = complaint(required_.front()),
                 .hint = "if records may lack it, declare it with optional=True, a default_value "
                         "or allow_missing=True"});
  }
  return has_rows_ && !usual_.empty() ? complaint(usual_.front()) : "";
}

std::string NeededColumns::complaint(const std::string& name) const {
  std::string names;
  if (nb::is_alive()) {
    const GilScope gil;
    try {
      names = "; " + there_are(nb::cast<std::vector<std::string>>(existing_->get()()), name);
    } catch (nb::python_error& error) {  // the files may have gone
      error.discard_as_unraisable("Dataset.__arrow_c_stream__");
    }
  }
  return "no record has a feature named " + printable(name) + names;
}

}  // namespace recordpipe::python
