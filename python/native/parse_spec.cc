#include "python/native/parse_spec.h"

#include <algorithm>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "recordpipe/error.h"

namespace recordpipe::python {
namespace {

FeatureKind kind_of(const std::string& dtype) {
  if (dtype == "bytes") return FeatureKind::bytes;
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

// `name` is NumPy's, for example "uint8" or "float16".
nb::dlpack::dtype dtype_of(const std::string& name) {
  using Code = nb::dlpack::dtype_code;
  const size_t digits = name.find_first_of("0123456789");
  const std::string family = name.substr(0, digits);
  const auto code = family == "uint"    ? Code::UInt
                    : family == "float" ? Code::Float
                    : family == "bool"  ? Code::Bool
                                        : Code::Int;
  const int bits = digits == std::string::npos ? 8 : std::stoi(name.substr(digits));
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
}

FixedLen raw_feature(const OutputFeature& output) {
  size_t bytes = output.dtype.bits / 8;
  for (const size_t dimension : output.shape) bytes *= dimension;
  return {.kind = FeatureKind::bytes, .value_bytes = bytes};
}

struct Feature {
  explicit Feature(nb::handle item) : parts(nb::cast<nb::tuple>(item)) {}
  std::string name() const { return nb::cast<std::string>(parts[0]); }
  std::string form() const { return nb::cast<std::string>(parts[1]); }
  std::string dtype() const { return nb::cast<std::string>(parts[2]); }
  std::vector<size_t> shape() const { return nb::cast<std::vector<size_t>>(parts[3]); }

  nb::tuple parts;
};

ExampleSchema example_schema(const nb::list& features, std::vector<OutputFeature>& outputs) {
  ExampleSchema schema;
  for (const nb::handle item : features) {
    const Feature feature(item);
    const std::string name = feature.name();
    if (feature.form() == "raw") {
      outputs.push_back(
          {name, FeatureKind::bytes, FeatureForm::raw, dtype_of(feature.dtype()), feature.shape()});
      schema[name] = raw_feature(outputs.back());
    } else if (const FeatureKind kind = kind_of(feature.dtype()); feature.form() == "fixed") {
      schema[name] = FixedLen{kind, feature.shape(), default_values(kind, feature.parts[4])};
      outputs.push_back({name, kind, FeatureForm::fixed});
    } else {
      schema[name] = Ragged{kind};
      outputs.push_back({name, kind, FeatureForm::ragged});
    }
  }
  return schema;
}

FeatureListSchema list_schema(const nb::list& features, std::vector<OutputFeature>& outputs) {
  FeatureListSchema schema;
  for (const nb::handle item : features) {
    const Feature feature(item);
    const std::string name = feature.name();
    const FeatureKind kind = kind_of(feature.dtype());
    if (feature.form() == "fixed_sequence") {
      schema[name] = FixedLenSequence{kind, feature.shape(), nb::cast<bool>(feature.parts[4])};
      outputs.push_back({name, kind, FeatureForm::fixed_sequence});
    } else {
      schema[name] = Ragged{kind};
      outputs.push_back({name, kind, FeatureForm::ragged});
    }
  }
  return schema;
}

}  // namespace

ParseSpec example_spec(const nb::list& features) {
  std::vector<OutputFeature> outputs;
  ExampleSchema schema = example_schema(features, outputs);
  const ExampleCollator collator(schema);
  return {std::move(outputs), {}, ParseCollator(collator), std::move(schema)};
}

ParseSpec sequence_example_spec(const nb::list& context, const nb::list& feature_lists) {
  std::vector<OutputFeature> outputs, lists;
  const SequenceExampleCollator collator({.context = example_schema(context, outputs),
                                          .feature_lists = list_schema(feature_lists, lists)});
  return {std::move(outputs), std::move(lists), ParseCollator(collator)};
}

const ImageSpec& ParseSpec::image(const std::string& feature) const {
  for (const ImageColumnCollator& image : collator.images()) {
    if (image.spec().feature == feature) return image.spec();
  }
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "'" + printable(feature) + "' is not an image",
               .hint = "call decode_image() or decode_raw() for it first"});
}

ParseSpec ParseSpec::with_image(const ImageSpec& image) const {
  const auto at = std::ranges::find(outputs, image.feature, &OutputFeature::name);
  if (at == outputs.end() || (at->form != FeatureForm::image &&
                              (at->form != FeatureForm::fixed || at->kind != FeatureKind::bytes))) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "'" + printable(image.feature) + "' is not a feature of bytes",
                 .hint = "an image needs parse() with FixedLenFeature([], \"bytes\") for it"});
  }
  ParseSpec changed = *this;
  std::vector<ImageColumnCollator> images = collator.images();
  OutputFeature& output = changed.outputs[static_cast<size_t>(at - outputs.begin())];
  if (at->form == FeatureForm::image) {
    images[at->image] = ImageColumnCollator(image);
  } else {
    std::get<FixedLen>(changed.schema.at(image.feature)).is_view = true;
    output.form = FeatureForm::image;
    output.image = images.size();
    images.emplace_back(image);
  }
  changed.collator = ParseCollator(ExampleCollator(changed.schema), std::move(images));
  return changed;
}

std::shared_ptr<const ParseSpec> cifar10_spec() {
  return std::make_shared<const ParseSpec>(
      ParseSpec{{{.name = "image", .kind = FeatureKind::bytes, .form = FeatureForm::image},
                 {.name = "label", .kind = FeatureKind::int64s, .form = FeatureForm::image_label}},
                {},
                ParseCollator(ExampleCollator({}))});
}

void ParseCollator::set(ParsedBatch& batch, size_t row, DrawnRecord drawn,
                        const DrawnRecord& next) const {
  std::get<ExampleCollator>(collator_).set(batch.example, row, drawn.record);
  size_t random = 0;
  for (size_t i = 0; i < images_.size(); ++i) {
    const ImageColumnCollator& image = images_[i];
    const auto value = batch.example.view(row, image.spec().feature);
    // The next record's image is near its start, if it is most of the record.
    const bool foresee = images_.size() == 1 && next.record.data.size() >= value.size();
    image.set(batch.images[i], row, value, drawn.record,
              image.spec().seed() ? drawn.random(random++) : Random(0, 0, 0),
              foresee ? reinterpret_cast<const uint8_t*>(next.record.data.data()) : nullptr);
  }
}

std::vector<Parameter> ParseCollator::parameters() const {
  std::vector<Parameter> all =
      std::visit([](const auto& collator) { return collator.parameters(); }, collator_);
  for (const ImageColumnCollator& image : images_) all.push_back(image.spec().parameter());
  return all;
}

}  // namespace recordpipe::python
