// What parse() adds to a Dataset of records: the features that become the keys of its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "python/native/parsed_batch.h"
#include "recordpipe/example_schema.h"

namespace recordpipe::python {

namespace nb = nanobind;

enum class FeatureForm { fixed, ragged, raw, tensor, fixed_sequence };

struct OutputFeature {
  bool operator==(const OutputFeature&) const = default;

  std::string name;
  FeatureKind kind;
  FeatureForm form;
  nb::dlpack::dtype dtype = {};    // if raw or tensor
  std::vector<size_t> shape = {};  // of one row, if raw
};

// The collator, and what to_python() makes of its batches.
struct ParseSpec {
  std::vector<OutputFeature> outputs;        // in the order of the batch's keys
  std::vector<OutputFeature> feature_lists;  // of SequenceExamples
  ParseCollator collator;
};

// The features are tuples (name, form, dtype, shape, default values or None). The form is "fixed",
// "ragged", "raw", "tensor" or "ragged_tensor" (whose shape is without the first dimension); in
// feature lists, "fixed_sequence" (with allow_missing instead of default values) or "ragged". The
// dtype is "bytes", "float32" or "int64"; of raw and tensor, NumPy's name of a type of numbers, or
// "bfloat16".
ParseSpec example_spec(const nb::list& features);
ParseSpec sequence_example_spec(const nb::list& context, const nb::list& feature_lists);

}  // namespace recordpipe::python
