// Python functions as the functions of operators. They are called on the pipeline's threads, with
// the GIL; a chunk of elements is processed each time the GIL is acquired.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/native/lease.h"
#include "python/native/python_object.h"
#include "recordpipe/internal/functions.h"

namespace recordpipe::python {

struct PythonFunction {
  SharedObject function;
  std::string name;  // part of the plan, so that a state of another function is refused; "": none

  std::vector<Parameter> parameters() const;
};

// Returns operator.index(number); throws nb::python_error. Needs the GIL.
int64_t to_integer(nb::handle number);

// function(element) -> element.
std::unique_ptr<internal::MapFunction> python_map(PythonFunction function);
// function(element, numpy.random.Generator) -> element. The generator draws from the element's own
// random numbers; `key` comes from derive_key.
std::unique_ptr<internal::MapFunction> python_random_map(PythonFunction function, uint64_t key);
// predicate(element) -> bool.
std::unique_ptr<internal::Predicate> python_filter(PythonFunction predicate);
// function(element) -> iterable of elements, for flat_map.
std::unique_ptr<internal::MapFunction> python_flat_map(PythonFunction function);
// function(element) -> recordpipe.Dataset, for interleave; its elements become Python objects.
std::unique_ptr<internal::MapFunction> python_interleave(PythonFunction function);
// function(element) -> a length, or as many lengths as `count`.
std::unique_ptr<internal::MeasureFunction> python_sizes(PythonFunction function, size_t count);
// function(list of elements) -> batch.
std::unique_ptr<internal::MapFunction> python_collate(SharedObject function);

// Conversions of elements to Python objects.
std::unique_ptr<internal::MapFunction> records_to_python();
std::unique_ptr<internal::MapFunction> batches_to_python(std::shared_ptr<const ParseSpec> spec,
                                                         std::shared_ptr<LeasePool> pool,
                                                         bool single);
std::unique_ptr<internal::MapFunction> images_to_python(std::shared_ptr<const ParseSpec> spec,
                                                        std::shared_ptr<LeasePool> pool);

}  // namespace recordpipe::python
