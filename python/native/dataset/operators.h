// What the operators of the Python module are made with, and where each group of them is defined.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/native/dataset/dataset.h"
#include "python/native/interpreter/python_function.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/extension.h"

namespace recordpipe::python {

using Self = const PythonDataset&;
using DatasetClass = nb::class_<PythonDataset>;

void define_order_operators(DatasetClass& dataset);
void define_function_operators(nb::module_& module, DatasetClass& dataset);
void define_grouping_operators(DatasetClass& dataset);
void define_combining_operators(nb::module_& module, DatasetClass& dataset);

inline SharedObject shared(nb::object object) {
  return std::make_shared<const PythonObject>(std::move(object));
}

inline DropRemainder drop(bool remainder) {
  return remainder ? DropRemainder::yes : DropRemainder::no;
}

template <class Out = PythonObject, class In>
Dataset<Out> mapped(const Dataset<In>& input, std::unique_ptr<extension::MapFunction> function,
                    std::optional<uint64_t> seed = {}) {
  return extension::dataset<Out>(input, extension::map(extension::node(input), std::move(function),
                                                       extension::element_ops<Out>(), seed));
}

// `collect` makes an object of each list of elements.
PythonDataset collected(const Dataset<std::vector<PythonObject>>& vectors, PythonFunction collect);

}  // namespace recordpipe::python
