// Python functions as the functions of operators. They are called on the pipeline's threads, with
// the GIL; a chunk of elements is processed each time the GIL is acquired.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "python/native/iterate/lease.h"
#include "python/native/values/python_object.h"
#include "recordpipe/pipeline/extension.h"

namespace recordpipe::python {

// What identifies a function in the plan, so that a state of another one is refused; "" is left
// out. Made by python/recordpipe/_plan/function_identity.py.
struct FunctionIdentity {
  std::string name;
  std::string code;                       // a fingerprint
  std::vector<std::string> not_compared;  // what the fingerprint leaves out

  std::vector<Parameter> parameters() const;
};

struct PythonFunction {
  SharedObject function;
  FunctionIdentity identity;

  std::vector<Parameter> parameters() const { return identity.parameters(); }
};

// The iterators that a function returns. One that it has returned before is used up: it would yield
// nothing, without an error. Copies share what they know; thread-safe.
class NewIterators {
 public:
  // Returns iter(returned). Throws nb::python_error, and Error{invalid_argument} for an iterator
  // that the function has returned before, if it is one that can't start again: a generator, or
  // another one of Python's builtins or itertools. `operator_name` is for the message. Needs the
  // GIL.
  nb::object of(const nb::object& returned, const char* operator_name) const;

 private:
  struct Last {
    std::mutex mutex;
    PythonObject iterator;  // a weak reference to it, if its type has these
  };
  std::shared_ptr<Last> last_ = std::make_shared<Last>();
};

// Returns operator.index(number); throws nb::python_error. Needs the GIL.
int64_t to_integer(nb::handle number);

// function(element) -> element.
std::unique_ptr<extension::MapFunction> python_map(PythonFunction function);
// function(element, numpy.random.Generator) -> element. The generator draws from the element's own
// random numbers; `key` comes from derive_key.
std::unique_ptr<extension::MapFunction> python_random_map(PythonFunction function, uint64_t key);
// predicate(element) -> bool.
std::unique_ptr<extension::Predicate> python_filter(PythonFunction predicate);
// function(element) -> iterable of elements, for flat_map: those of a recordpipe.Dataset are read
// on by the pipeline.
std::unique_ptr<extension::MapFunction> python_flat_map(PythonFunction function);
// The type of its outputs, and what belongs to one of them.
const extension::ElementOps& flat_map_result();
extension::FlatMapRest* rest_of_flat_map(void* result);
// function(element) -> recordpipe.Dataset, for interleave; its elements become Python objects.
std::unique_ptr<extension::MapFunction> python_interleave(PythonFunction function);
// function(element) -> a length, or as many lengths as `count`.
std::unique_ptr<extension::MeasureFunction> python_sizes(PythonFunction function, size_t count);
// function(list of elements) -> batch.
std::unique_ptr<extension::MapFunction> python_collate(PythonFunction function);

// element -> (element, path, number of the record in the file); Error{unsupported} for an element
// that comes from no record.
std::unique_ptr<extension::MapFunction> python_with_origin();
// bytes -> Record; TypeError for other objects.
std::unique_ptr<extension::MapFunction> python_to_records();

// Conversions of elements to Python objects.
std::unique_ptr<extension::MapFunction> records_to_python();
std::unique_ptr<extension::MapFunction> batches_to_python(std::shared_ptr<const ParseSpec> spec,
                                                          std::shared_ptr<LeasePool> pool,
                                                          bool single);
std::unique_ptr<extension::MapFunction> images_to_python(std::shared_ptr<const ParseSpec> spec,
                                                         std::shared_ptr<LeasePool> pool);

}  // namespace recordpipe::python
