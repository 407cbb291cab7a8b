#include "python/native/arrow/arrow_steps.h"

#include "python/native/values/arrays.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {

std::vector<OutputFeature> step_columns(const rlds::StepReader& reader) {
  std::vector<OutputFeature> columns;
  for (const rlds::StepColumn& column : reader.columns()) {
    if (column.is_ragged) {
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "feature '" + printable(column.name) +
                             "' has another number of values in each step, and no Arrow column",
                   .hint = "leave it out: steps(features=[...])"});
    }
    columns.push_back({.name = column.name,
                       .kind = FeatureKind::bytes,
                       .form = column.type ? FeatureForm::raw : FeatureForm::fixed,
                       .shape = column.row_shape()});
    if (column.type) columns.back().dtype = dtype_of(to_string(*column.type));
  }
  for (const rlds::StepMask& mask : reader.masks()) {
    columns.push_back({.name = mask.name,
                       .kind = FeatureKind::bytes,
                       .form = FeatureForm::raw,
                       .shape = {mask.window},
                       .dtype = dtype_of("bool")});
  }
  return columns;
}

}  // namespace recordpipe::python
