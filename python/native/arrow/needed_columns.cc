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
  for (size_t i = 0; i < presence.size() && !absent_.empty(); ++i) {
    bool is_present = presence[i].empty();
    for (size_t row = 0; row < rows && !is_present; ++row) {
      is_present = bit(presence[i].data(), static_cast<int64_t>(row));
    }
    if (is_present) std::erase(absent_, features[i].name);
  }
}

void NeededColumns::require() const {
  if (!has_rows_ || absent_.empty()) return;
  std::string names;
  if (nb::is_alive()) {
    const GilScope gil;
    try {
      names =
          "; " + there_are(nb::cast<std::vector<std::string>>(existing_->get()()), absent_.front());
    } catch (nb::python_error& error) {  // the files may have gone
      error.discard_as_unraisable("Dataset.__arrow_c_stream__");
    }
  }
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "no record has a feature named " + printable(absent_.front()) + names});
}

}  // namespace recordpipe::python
