#include "python/native/dataset/parse_spec.h"

#include <algorithm>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dataset/base/names_in_words.h"
#include "python/native/values/arrays.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {
namespace {

FeatureKind kind_of(const std::string& dtype) {
  if (dtype == "bytes" || dtype == "string") return FeatureKind::bytes;
  if (dtype == "float32") return FeatureKind::floats;
  return FeatureKind::int64s;
}

DefaultValues default_values(FeatureKind kind, nb::handle values) {
  if (values.is_none()) return {};
  if (kind == FeatureKind::floats) return nb::cast<std::vector<float>>(values);
  if (kind == FeatureKind::int64s) return nb::cast<std::vector<int64_t>>(values);
  std::vector<std::string> texts;
  for (const nb::handle value : values) {
    const auto bytes = nb::cast<nb::bytes>(value);
    texts.emplace_back(bytes.c_str(), bytes.size());
  }
  return texts;
}

TensorType tensor_type(const std::string& name) {
  constexpr TensorType kTypes[] = {
      TensorType::float16, TensorType::bfloat16,  TensorType::float32,   TensorType::float64,
      TensorType::int8,    TensorType::int16,     TensorType::int32,     TensorType::int64,
      TensorType::uint8,   TensorType::uint16,    TensorType::uint32,    TensorType::uint64,
      TensorType::boolean, TensorType::complex64, TensorType::complex128};
  for (const TensorType type : kTypes) {
    if (to_string(type) == name) return type;
  }
  throw Error({.kind = ErrorKind::invalid_argument, .reason = "no tensor has the type " + name});
}

TensorEncoding encoding_of(const std::string& name) {
  if (name == "little_endian") return TensorEncoding::little_endian;
  return name == "big_endian" ? TensorEncoding::big_endian : TensorEncoding::proto;
}

size_t product(const std::vector<size_t>& shape) {
  size_t size = 1;
  for (const size_t dimension : shape) size *= dimension;
  return size;
}

DefaultValues zeros(FeatureKind kind, size_t count) {
  if (kind == FeatureKind::floats) return std::vector<float>(count);
  if (kind == FeatureKind::int64s) return std::vector<int64_t>(count);
  return std::vector<std::string>(count);
}

FixedLen raw_feature(const OutputFeature& output, MissingFeatures missing) {
  const size_t bytes = output.dtype.bits / 8 * product(output.shape);
  FixedLen feature{.kind = FeatureKind::bytes, .value_bytes = bytes};
  if (missing == MissingFeatures::null) {
    feature.default_values = std::vector<std::string>{std::string(bytes, '\0')};
    feature.empty_is_missing = true;
  }
  return feature;
}

FeatureForm form_of(const std::string& name) {
  if (name == "fixed" || name == "optional") return FeatureForm::fixed;
  if (name == "raw") return FeatureForm::raw;
  if (name == "tensor") return FeatureForm::tensor;
  if (name == "ragged_tensor") return FeatureForm::ragged_tensor;
  if (name == "fixed_sequence") return FeatureForm::fixed_sequence;
  return FeatureForm::ragged;
}

struct Feature {
  explicit Feature(nb::handle item) : parts(nb::cast<nb::tuple>(item)) {}
  std::string name() const { return nb::cast<std::string>(parts[0]); }
  std::string form() const { return nb::cast<std::string>(parts[1]); }
  std::string dtype() const { return nb::cast<std::string>(parts[2]); }
  std::vector<size_t> shape() const { return nb::cast<std::vector<size_t>>(parts[3]); }
  OutputFeature output() const {
    const FeatureForm of = form_of(form());
    return {.name = name(),
            .kind = is_block(of) ? FeatureKind::bytes : kind_of(dtype()),
            .form = of,
            .shape = shape(),
            .is_text = dtype() == "string",
            .is_optional = form() == "optional"};
  }

  SerializedTensor tensor(MissingFeatures missing) const {
    return {.type = tensor_type(dtype()),
            .shape = shape(),
            .ragged = form_of(form()) == FeatureForm::ragged_tensor,
            .allow_missing = missing == MissingFeatures::null,
            .encoding = encoding_of(nb::cast<std::string>(parts[4]))};
  }

  nb::tuple parts;
};

void require_free_masks(const std::vector<OutputFeature>& outputs) {
  for (const OutputFeature& feature : outputs) {
    const std::string mask = mask_feature(feature.name);
    const auto same = std::ranges::find(outputs, mask, &OutputFeature::name);
    if (!feature.is_optional || same == outputs.end()) continue;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "'" + printable(mask) +
                           "' is a feature, and the mask of the optional '" +
                           printable(feature.name) + "'",
                 .hint = "leave one of them out of parse()"});
  }
}

ExampleSchema example_schema(const nb::list& features, MissingFeatures missing,
                             std::vector<OutputFeature>& outputs) {
  const bool nulls = missing == MissingFeatures::null;
  ExampleSchema schema;
  for (const nb::handle item : features) {
    const Feature feature(item);
    OutputFeature output = feature.output();
    if (output.form == FeatureForm::raw) {
      output.dtype = dtype_of(feature.dtype());
      schema[output.name] = raw_feature(output, missing);
    } else if (output.form == FeatureForm::tensor || output.form == FeatureForm::ragged_tensor) {
      output.dtype = dtype_of(feature.dtype());
      schema[output.name] = feature.tensor(missing);
    } else if (output.form == FeatureForm::fixed) {
      DefaultValues values = default_values(output.kind, feature.parts[4]);
      output.has_default = values.index() != 0;
      const bool may_lack = nulls || output.is_optional;
      if (may_lack && !output.has_default) values = zeros(output.kind, product(output.shape));
      schema[output.name] = FixedLen{.kind = output.kind,
                                     .shape = output.shape,
                                     .default_values = std::move(values),
                                     .utf8 = nulls && output.is_text,
                                     .empty_is_missing = may_lack};
    } else {
      schema[output.name] = Ragged{output.kind, nulls && output.is_text};
    }
    outputs.push_back(std::move(output));
  }
  if (!nulls) require_free_masks(outputs);
  return schema;
}

FeatureListSchema list_schema(const nb::list& features, MissingFeatures missing,
                              std::vector<OutputFeature>& outputs) {
  const bool nulls = missing == MissingFeatures::null;
  FeatureListSchema schema;
  for (const nb::handle item : features) {
    const Feature feature(item);
    OutputFeature output = feature.output();
    const bool utf8 = nulls && output.is_text;
    if (output.form == FeatureForm::fixed_sequence) {
      const bool allow_missing = nulls || nb::cast<bool>(feature.parts[4]);
      schema[output.name] = FixedLenSequence{output.kind, output.shape, allow_missing, utf8};
    } else if (is_block(output.form)) {
      output.dtype = dtype_of(feature.dtype());
      schema[output.name] = feature.tensor(missing);
    } else {
      schema[output.name] = Ragged{output.kind, utf8};
    }
    outputs.push_back(std::move(output));
  }
  return schema;
}

std::vector<ImageSpec> image_specs(const ParseCollator& collator) {
  std::vector<ImageSpec> specs;
  for (const ImageColumnCollator& image : collator.images()) specs.push_back(image.spec());
  return specs;
}

}  // namespace

ParseSpec example_spec(const nb::list& features, MissingFeatures missing,
                       std::shared_ptr<UnlistedFeatures> unlisted) {
  std::vector<OutputFeature> outputs;
  ExampleSchema schema = example_schema(features, missing, outputs);
  ParseCollator collator(ExampleImagesCollator(schema, {}, unlisted, OtherMessages::refuse));
  return {std::move(outputs), {}, std::move(collator), std::move(schema), std::move(unlisted)};
}

ParseSpec sequence_example_spec(const nb::list& context, const nb::list& feature_lists,
                                MissingFeatures missing, bool of_example_lists,
                                std::shared_ptr<UnlistedFeatures> unlisted) {
  std::vector<OutputFeature> outputs, lists;
  const SequenceExampleSchema schema{.context = example_schema(context, missing, outputs),
                                     .feature_lists = list_schema(feature_lists, missing, lists),
                                     .of_example_lists = of_example_lists};
  ParseCollator collator(SequenceExampleCollator(schema, unlisted, OtherMessages::refuse));
  return {std::move(outputs), std::move(lists), std::move(collator), {}, std::move(unlisted)};
}

ParseSpec tfds_spec(tfds::ExamplesCollator collator) {
  return {{}, {}, ParseCollator(std::move(collator))};
}

bool ParseSpec::has_masks() const {
  return std::ranges::any_of(outputs, &OutputFeature::is_optional);
}

ImageSpec ParseSpec::image(const std::string& feature) const {
  for (const ImageColumnCollator& image : collator.images()) {
    if (image.spec().feature == feature) return image.spec();
  }
  if (const tfds::ExamplesCollator* of_tfds = collator.tfds()) return of_tfds->image(feature);
  if (!collator.steps()) require_feature(feature);
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "'" + printable(feature) + "' is not an image",
               .hint = "call decode_image() or decode_raw() for it first"});
}

void ParseSpec::require_feature(const std::string& name) const {
  std::vector<std::string> names;
  for (const OutputFeature& feature : outputs) names.push_back(feature.name);
  for (const OutputFeature& feature : feature_lists) names.push_back(feature.name);
  if (std::ranges::find(names, name) != names.end()) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "parse() has no feature '" + printable(name) + "'; " +
                         there_are(std::move(names), name)});
}

std::string size_feature(const std::string& image) { return image + "/size"; }
std::string mask_feature(const std::string& optional) { return optional + "_mask"; }

ParseSpec ParseSpec::with_image(const ImageSpec& image) const {
  if (collator.steps()) return step_spec_with(image);
  if (const tfds::ExamplesCollator* of_tfds = collator.tfds()) {
    return tfds_spec(of_tfds->with_image(image));
  }
  require_feature(image.feature);
  const auto at = std::ranges::find(outputs, image.feature, &OutputFeature::name);
  if (at == outputs.end() || (at->form != FeatureForm::image &&
                              (at->form != FeatureForm::fixed || at->kind != FeatureKind::bytes))) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "'" + printable(image.feature) + "' is not a feature of bytes",
                 .hint = "an image needs parse() with FixedLenFeature([], \"bytes\") for it"});
  }
  if (image.sizes == ImageSizes::padded &&
      std::ranges::find(outputs, size_feature(image.feature), &OutputFeature::name) !=
          outputs.end()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the sizes of the padded images become '" +
                           printable(size_feature(image.feature)) + "', which is a feature already",
                 .hint = "leave it out of parse()"});
  }
  ParseSpec changed = *this;
  std::vector<ImageSpec> images = image_specs(collator);
  OutputFeature& output = changed.outputs[static_cast<size_t>(at - outputs.begin())];
  if (at->form == FeatureForm::image) {
    images[at->image] = image;
  } else {
    output.form = FeatureForm::image;
    output.is_optional = false;  // without the bytes, there is no image
    output.image = images.size();
    images.push_back(image);
  }
  changed.collator =
      ParseCollator(ExampleImagesCollator(schema, images, unlisted, OtherMessages::refuse));
  return changed;
}

ParseCollator ParseSpec::unwatched_collator() const {
  if (!unlisted || !collator.examples()) return collator;
  const std::vector<ImageSpec> images = image_specs(collator);
  return ParseCollator(ExampleImagesCollator(schema, images, nullptr, OtherMessages::refuse));
}

ParseSpec ParseSpec::step_spec_with(const ImageSpec& image) const {
  std::vector<ImageSpec> images = image_specs(collator);
  const auto same = std::ranges::find(images, image.feature, &ImageSpec::feature);
  if (same == images.end()) {
    images.push_back(image);
  } else {
    *same = image;
  }
  return step_spec(rlds::StepCollator(collator.steps()->shared_reader(), images));
}

ParseSpec step_spec(rlds::StepCollator collator) {
  return {{}, {}, ParseCollator(std::move(collator))};
}

std::shared_ptr<const ParseSpec> cifar10_spec() {
  return std::make_shared<const ParseSpec>(
      ParseSpec{{{.name = "image", .kind = FeatureKind::bytes, .form = FeatureForm::image},
                 {.name = "label", .kind = FeatureKind::int64s, .form = FeatureForm::image_label}},
                {},
                ParseCollator(ExampleImagesCollator({}))});
}

}  // namespace recordpipe::python
