#include "python/native/toolkit/schema.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/toolkit/describe/survey.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe::python {
namespace {

// (minimum, maximum); None if nothing was counted.
nb::object range(uint64_t min, uint64_t max) {
  if (min > max) return nb::none();
  return nb::make_tuple(min, max);
}

nb::str kind_text(const InferredFeature& feature) { return text(json_kind(feature.kind())); }

bool is_text(const InferredFeature& feature) {
  return feature.kind() == FeatureKind::bytes && feature.max_values > 0 && feature.is_text;
}

// Returns the arguments of Schema._of().
nb::tuple survey_schema(const SharedFiles& files, const std::vector<FilePath>& given,
                        const Reading& reading, const std::optional<std::string>& where,
                        std::optional<uint64_t> limit, size_t threads, const nb::object& progress) {
  SurveyOptions options = survey_options(reading, where, limit, threads);
  const Inputs inputs = find_inputs(files, given);
  InferredSchema schema;
  SkippedRegions skipped;
  options.input.damaged = skipped.sink();
  run_file_work(files, progress, inputs.bytes, [&](const FileWork& work) {
    schema = infer_schema(work, inputs.paths, std::move(options));
  });
  return nb::make_tuple(to_python(schema), skipped.to_python());
}

}  // namespace

nb::tuple to_python(const InferredSchema& schema) {
  nb::dict kinds;
  for (size_t i = 0; i < schema.by_kind.size(); ++i) {
    if (schema.by_kind[i] == 0) continue;
    kinds[text(to_string(static_cast<MessageKind>(i)))] = schema.by_kind[i];
  }
  nb::dict features;
  for (const auto& [name, feature] : schema.features) {
    features[text(name)] = nb::make_tuple(kind_text(feature), feature.with_list(),
                                          range(feature.min_values, feature.max_values),
                                          schema.fixed_values(feature), is_text(feature));
  }
  nb::dict lists;
  for (const auto& [name, list] : schema.feature_lists) {
    const auto steps = static_cast<double>(list.steps());
    lists[text(name)] = nb::make_tuple(
        kind_text(list.step), list.records, range(list.step.min_values, list.step.max_values),
        range(list.min_steps, list.max_steps), schema.fixed_values(list), is_text(list.step),
        steps > 0 ? static_cast<double>(list.step.with_list()) / steps : 1.0);
  }
  const auto kind = schema.kind();
  const bool has_code = kind != MessageKind::example_list;
  return nb::make_tuple(
      schema.records, text(kind ? to_string(*kind) : "mixed"), kinds, schema.with_features(),
      features, lists, schema.left_out, schema.undecided.count, text(schema.undecided.first),
      text(has_code ? schema_as_cpp(schema) : ""), text(has_code ? schema_as_python(schema) : ""),
      text(has_code ? schema_as_tensorflow(schema) : ""), schema.skipped.regions,
      schema.skipped.bytes, schema.skipped.compressed_bytes);
}

void define_schema(nb::module_& module) {
  module.def("schema", &survey_schema, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
             nb::arg().none(), nb::arg(), nb::arg().none());
  // Takes a list of bytes; returns the arguments of Schema._of().
  module.def("schema_of_records", [](const nb::list& records) {
    InferredSchema schema;
    MessageView message;
    for (const nb::handle item : records) {
      const auto record = nb::cast<nb::bytes>(item);
      message.read({static_cast<const std::byte*>(record.data()), record.size()});
      schema.add(message, record.size());
    }
    return to_python(schema);
  });
}

}  // namespace recordpipe::python
