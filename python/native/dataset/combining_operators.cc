// Operators on several Datasets. Their elements become Python objects, unless they are equal ones.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/vector.h>

#include "dataset/base/require.h"
#include "python/native/dataset/operators.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "recordpipe/pipeline/choose_from_datasets.h"
#include "recordpipe/pipeline/extension.h"
#include "recordpipe/pipeline/sample_from_datasets.h"

namespace recordpipe::python {
namespace {

using Datasets = std::vector<PythonDataset>;

bool equal_specs(const ParseSpec* a, const ParseSpec* b) {
  if (!a || !b) return a == b;
  const rlds::StepCollator* const steps_a = a->collator.steps();
  const rlds::StepCollator* const steps_b = b->collator.steps();
  if (!steps_a != !steps_b) return false;
  if (steps_a && !steps_a->reader().fits(steps_b->reader())) return false;
  const std::vector<Parameter> of_a = a->collator.parameters();
  const std::vector<Parameter> of_b = b->collator.parameters();
  if (of_a.size() != of_b.size() || a->outputs != b->outputs ||
      a->feature_lists != b->feature_lists || !a->unlisted != !b->unlisted ||
      (a->unlisted && a->unlisted->options().answer != b->unlisted->options().answer)) {
    return false;
  }
  for (size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i].name != of_b[i].name || of_a[i].value != of_b[i].value) return false;
  }
  return true;
}

bool same_elements(const PythonDataset& a, const PythonDataset& b) {
  return a.elements().index() == b.elements().index() && a.single() == b.single() &&
         equal_specs(a.spec().get(), b.spec().get());
}

bool have_same_elements(const Datasets& datasets) {
  return std::ranges::all_of(datasets, [&](const PythonDataset& dataset) {
    return same_elements(datasets.front(), dataset);
  });
}

StopOnEmptyDataset stop(bool on_empty) {
  return on_empty ? StopOnEmptyDataset::yes : StopOnEmptyDataset::no;
}

// Calls merge() with the datasets; they become objects if their elements differ.
template <class Merge>
PythonDataset merged(const Datasets& datasets, const char* name, const Merge& merge) {
  require(!datasets.empty(), std::string(name) + " needs at least one dataset");
  if (!have_same_elements(datasets)) {
    std::vector<Dataset<PythonObject>> inputs;
    for (const PythonDataset& dataset : datasets) inputs.push_back(dataset.objects());
    return PythonDataset(merge(inputs));
  }
  return datasets.front().reorder([&]<class T>(const Dataset<T>&) {
    std::vector<Dataset<T>> inputs;
    for (const PythonDataset& dataset : datasets) {
      inputs.push_back(std::get<Dataset<T>>(dataset.elements()));
    }
    return merge(inputs);
  });
}

PythonDataset concatenated(Self first, Self next) {
  if (!same_elements(first, next)) {
    return PythonDataset(first.objects().concatenate(next.objects()));
  }
  return first.reorder([&]<class T>(const Dataset<T>& elements) {
    return elements.concatenate(std::get<Dataset<T>>(next.elements()));
  });
}

PythonDataset sample(const Datasets& datasets, std::vector<double> weights, uint64_t seed,
                     bool stop_on_empty) {
  return merged(datasets, "sample_from_datasets", [&](const auto& inputs) {
    return recordpipe::sample_from_datasets(inputs, std::move(weights), seed, stop(stop_on_empty));
  });
}

// The elements of `choices` are integers.
PythonDataset choose(const Datasets& datasets, const PythonDataset& choices, bool stop_on_empty) {
  const Dataset<int64_t> numbers = choices.objects().map([](const PythonObject& choice) {
    const GilScope gil;
    try {
      return to_integer(choice.get());
    } catch (nb::python_error& error) {
      throw_raised(error);
    }
  });
  return merged(datasets, "choose_from_datasets", [&](const auto& inputs) {
    return recordpipe::choose_from_datasets(inputs, numbers, stop(stop_on_empty));
  });
}

PythonDataset zipped(const Datasets& datasets, nb::object collect) {
  require(!datasets.empty(), "zip needs at least one dataset");
  using Members = std::vector<PythonObject>;
  static const extension::TupleOps ops{extension::element_ops<Members>(),
                                       [](void* tuple, size_t index) -> void* {
                                         Members& members = *static_cast<Members*>(tuple);
                                         if (members.size() <= index) members.resize(index + 1);
                                         return &members[index];
                                       }};
  std::vector<extension::NodePtr> inputs;
  for (const PythonDataset& dataset : datasets)
    inputs.push_back(extension::node(dataset.objects()));
  return collected(extension::dataset<Members>(datasets.front().objects(),
                                               extension::zip(std::move(inputs), ops)),
                   {shared(std::move(collect))});
}

}  // namespace

void define_combining_operators(nb::module_& module, DatasetClass& dataset) {
  dataset.def("concatenate", &concatenated);
  module.def("have_same_elements", &have_same_elements);
  module.def("sample", &sample);
  module.def("choose", &choose);
  module.def("zip", &zipped);
}

}  // namespace recordpipe::python
