#include "python/native/dataset/sequence_sizes.h"

#include <algorithm>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe::python {
namespace {

const OutputFeature* find(const std::vector<OutputFeature>& outputs, const std::string& name) {
  const auto found = std::ranges::find(outputs, name, &OutputFeature::name);
  return found == outputs.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_lengths(const std::string& name) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "'" + printable(name) + "' is not a feature of sequences",
               .hint = "parse() needs RaggedFeature for it; give a function of elements for other "
                       "lengths"});
}

// The number of items of the only row.
template <class Columns>
size_t count_items(const Columns& columns, const OutputFeature& feature) {
  const auto count = [&](const auto& column) { return column.items(0); };
  if (feature.kind == FeatureKind::bytes) {
    return count(columns.template ragged<FeatureKind::bytes>(feature.name));
  }
  if (feature.kind == FeatureKind::floats) {
    return count(columns.template ragged<FeatureKind::floats>(feature.name));
  }
  return count(columns.template ragged<FeatureKind::int64s>(feature.name));
}

template <FeatureKind kind>
size_t steps_of(const FeatureListColumns& columns, const OutputFeature& feature) {
  if (feature.form == FeatureForm::fixed_sequence)
    return columns.dense<kind>(feature.name).items(0);
  return columns.ragged<kind>(feature.name).steps(0);
}

size_t count_steps(const FeatureListColumns& columns, const OutputFeature& feature) {
  if (feature.kind == FeatureKind::bytes) return steps_of<FeatureKind::bytes>(columns, feature);
  if (feature.kind == FeatureKind::floats) return steps_of<FeatureKind::floats>(columns, feature);
  return steps_of<FeatureKind::int64s>(columns, feature);
}

}  // namespace

ParseSpec only_features(const ParseSpec& spec, const std::vector<std::string>& names) {
  std::vector<OutputFeature> outputs;
  ExampleSchema schema;
  for (const std::string& name : names) {
    spec.require_feature(name);
    const OutputFeature* const feature = find(spec.outputs, name);
    if (!feature || feature->form != FeatureForm::ragged || spec.collator.is_sequence()) {
      refuse_lengths(name);
    }
    outputs.push_back(*feature);
    schema[name] = spec.schema.at(name);
  }
  ParseCollator collator{ExampleImagesCollator(schema, {}, spec.unlisted)};
  return {std::move(outputs), {}, std::move(collator), std::move(schema), spec.unlisted};
}

FeatureSizes::FeatureSizes(const ParseSpec& spec, std::vector<std::string> names)
    : collator_(spec.collator.is_sequence() ? spec.collator : only_features(spec, names).collator) {
  for (const std::string& name : names) {
    spec.require_feature(name);
    const OutputFeature* const list = find(spec.feature_lists, name);
    const OutputFeature* const feature = list ? list : find(spec.outputs, name);
    if (!list && (!feature || feature->form != FeatureForm::ragged)) refuse_lengths(name);
    features_.push_back({*feature, list != nullptr});
  }
}

std::vector<size_t> FeatureSizes::operator()(const Record& record) const {
  thread_local ParsedBatch row;
  collator_.reset(row, 1);
  collator_.set(row, 0, record);
  collator_.finish(row);
  std::vector<size_t> sizes;
  for (const Feature& feature : features_) {
    sizes.push_back(feature.in_list ? count_steps(row.sequence.feature_lists(), feature.output)
                    : collator_.is_sequence() ? count_items(row.sequence.context(), feature.output)
                                              : count_items(row.example, feature.output));
  }
  return sizes;
}

std::vector<Parameter> FeatureSizes::parameters() const {
  std::string names;
  for (const Feature& feature : features_)
    names += (names.empty() ? "" : ",") + feature.output.name;
  return {{"length_of", names}};
}

}  // namespace recordpipe::python
