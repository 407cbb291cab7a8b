// What parse() adds to a Dataset of records: the features that become the keys of its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "python/native/parsed_batch.h"
#include "recordpipe/example_schema.h"

namespace recordpipe::python {

namespace nb = nanobind;

enum class FeatureForm { fixed, ragged, raw, fixed_sequence, image, image_label };

struct OutputFeature {
  std::string name;
  FeatureKind kind;
  FeatureForm form;
  nb::dlpack::dtype dtype = {};    // if raw
  std::vector<size_t> shape = {};  // of one row, if raw
  size_t image = 0;                // the index of ParsedBatch::images, if image or image_label
};

// The collator, and what to_python() makes of its batches.
struct ParseSpec {
  std::vector<OutputFeature> outputs;        // in the order of the batch's keys
  std::vector<OutputFeature> feature_lists;  // of SequenceExamples
  ParseCollator collator;
  ExampleSchema schema = {};  // of Examples

  // Returns the spec with this image, instead of the feature of bytes, or of the image, with its
  // name. Throws Error{invalid_argument}.
  ParseSpec with_image(const ImageSpec& image) const;
  // Throws Error{invalid_argument} if the feature is not an image.
  const ImageSpec& image(const std::string& feature) const;
};

// The spec of the batches of cifar10_batches(): "image" and "label".
std::shared_ptr<const ParseSpec> cifar10_spec();

// The features are tuples (name, form, dtype, shape, default values or None). The form is "fixed",
// "ragged" or "raw"; in feature lists, "fixed_sequence" (with allow_missing instead of default
// values) or "ragged". The dtype is "bytes", "float32" or "int64"; if raw, NumPy's name of a type
// of numbers.
ParseSpec example_spec(const nb::list& features);
ParseSpec sequence_example_spec(const nb::list& context, const nb::list& feature_lists);

}  // namespace recordpipe::python
