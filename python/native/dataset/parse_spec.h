// What parse() adds to a Dataset of records: the features that become the keys of its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "python/native/dataset/parsed_batch.h"
#include "recordpipe/example/example_schema.h"
#include "recordpipe/example/unlisted_features.h"

namespace recordpipe::python {

namespace nb = nanobind;

enum class FeatureForm {
  fixed,
  ragged,
  raw,
  tensor,
  ragged_tensor,
  fixed_sequence,
  image,
  image_label
};

// Whether the values of a batch are one block of memory, of numbers of any type.
constexpr bool is_block(FeatureForm form) {
  return form == FeatureForm::raw || form == FeatureForm::tensor ||
         form == FeatureForm::ragged_tensor;
}

struct OutputFeature {
  bool operator==(const OutputFeature&) const = default;

  std::string name;
  FeatureKind kind;
  FeatureForm form;
  std::vector<size_t> shape = {};  // of one row; in feature lists, of one step
  nb::dlpack::dtype dtype = {};    // if raw or tensor
  bool is_text = false;            // bytes that are declared to be strings
  bool has_default = false;
  bool is_optional = false;  // if fixed: "<name>_mask" beside it says which rows have it
  size_t image = 0;          // the index of ParsedBatch::images, if image or image_label
};

// The key of the presence of an optional feature: "weight_mask".
std::string mask_feature(const std::string& optional);

// The key of the sizes of padded images: "image/size".
std::string size_feature(const std::string& image);

// The collator, and what to_python() makes of its batches.
struct ParseSpec {
  std::vector<OutputFeature> outputs;        // in the order of the batch's keys
  std::vector<OutputFeature> feature_lists;  // of SequenceExamples
  ParseCollator collator;
  ExampleSchema schema = {};  // of Examples
  // What watches for features that the schema does not name; null: they are ignored.
  std::shared_ptr<UnlistedFeatures> unlisted = nullptr;

  // Whether a feature is optional.
  bool has_masks() const;
  // Returns the spec with this image, instead of the feature of bytes, or of the image, with its
  // name. Throws Error{invalid_argument}.
  ParseSpec with_image(const ImageSpec& image) const;
  // Throws Error{invalid_argument} if the feature is not an image.
  ImageSpec image(const std::string& feature) const;
  // Throws Error{invalid_argument}, which names the features that there are, unless this is one.
  void require_feature(const std::string& name) const;
  // The collator of Examples, without `unlisted`; of others, the collator itself.
  ParseCollator unwatched_collator() const;

 private:
  ParseSpec step_spec_with(const ImageSpec& image) const;
};

enum class MissingFeatures {
  // As parse() documents it: an error for a feature that is required.
  strict,
  // No error: zeros, or empty bytes; validity() of the batch tells which rows they are in. Of a
  // feature of fixed shape, an empty list is missing, too. Text must be UTF-8.
  null,
};
// The spec of the batches of cifar10_batches(): "image" and "label".
std::shared_ptr<const ParseSpec> cifar10_spec();

// The spec of rows of steps.
ParseSpec step_spec(rlds::StepCollator collator);

// The features are tuples (name, form, dtype, shape, default values or None). The form is "fixed",
// "optional" (fixed, but an Example may lack it), "ragged", "raw", "tensor" or "ragged_tensor"
// (whose shape is without the first dimension); in feature lists, "fixed_sequence" (with
// allow_missing instead of default values), "ragged", "tensor" or "ragged_tensor". Instead of
// default values, tensors have their encoding, as to_encoding() takes it. The dtype is "bytes",
// "string", "float32" or "int64"; of raw and tensor, NumPy's name of a type of numbers, or
// "bfloat16". `unlisted`: see ParseSpec.
ParseSpec example_spec(const nb::list& features, MissingFeatures missing,
                       std::shared_ptr<UnlistedFeatures> unlisted);
// Of Examples of TFDS.
ParseSpec tfds_spec(tfds::ExamplesCollator collator);
ParseSpec sequence_example_spec(const nb::list& context, const nb::list& feature_lists,
                                MissingFeatures missing, bool of_example_lists,
                                std::shared_ptr<UnlistedFeatures> unlisted);

}  // namespace recordpipe::python
