#include "python/native/parse_spec.h"

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

// `name` is NumPy's, for example "uint8" or "float16". NumPy has no bfloat16: its bits are a
// uint16.
nb::dlpack::dtype dtype_of(const std::string& name) {
  using Code = nb::dlpack::dtype_code;
  const size_t digits = name.find_first_of("0123456789");
  const std::string family = name.substr(0, digits);
  const auto code = family == "uint" || family == "bfloat" ? Code::UInt
                    : family == "float"                    ? Code::Float
                    : family == "complex"                  ? Code::Complex
                    : family == "bool"                     ? Code::Bool
                                                           : Code::Int;
  const int bits = digits == std::string::npos ? 8 : std::stoi(name.substr(digits));
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
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
    } else if (feature.form() == "tensor" || feature.form() == "ragged_tensor") {
      const std::string dtype = feature.dtype();
      outputs.push_back({name, FeatureKind::bytes, FeatureForm::tensor, dtype_of(dtype)});
      schema[name] = SerializedTensor{.type = tensor_type(dtype),
                                      .shape = feature.shape(),
                                      .ragged = feature.form() == "ragged_tensor"};
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
  const ExampleCollator collator(example_schema(features, outputs));
  return {std::move(outputs), {}, ParseCollator(collator)};
}

ParseSpec sequence_example_spec(const nb::list& context, const nb::list& feature_lists) {
  std::vector<OutputFeature> outputs, lists;
  const SequenceExampleCollator collator({.context = example_schema(context, outputs),
                                          .feature_lists = list_schema(feature_lists, lists)});
  return {std::move(outputs), std::move(lists), ParseCollator(collator)};
}

}  // namespace recordpipe::python
