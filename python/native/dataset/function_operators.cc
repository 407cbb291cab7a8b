// Operators that call a function in Python, and make Python objects of elements.
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/native/dataset/dataset_files.h"
#include "python/native/dataset/operators.h"
#include "python/native/files/file_path.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/values/random_generator.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/extension.h"
#include "recordpipe/pipeline/from_generator.h"

namespace recordpipe::python {
namespace {

using extension::Ticket;

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

nb::object NewIterators::of(const nb::object& returned, const char* operator_name) const {
  nb::object iterator = nb::steal(PyObject_GetIter(returned.ptr()));
  if (!iterator) throw nb::python_error();
  if (!iterator.is(returned)) return iterator;  // of a list, for example
  const nb::str name(iterator.type().attr("__module__"));
  const std::string_view module = name.c_str();
  if (module != "builtins" && module != "itertools") {
    return iterator;  // a file, for example, that the function has rewound
  }
  nb::object reference = iterator;
  if (PyObject* const weak = PyWeakref_NewRef(iterator.ptr(), nullptr)) {
    reference = nb::steal(weak);  // the same one for the same iterator
  } else {
    PyErr_Clear();
  }
  PythonObject replaced(std::move(reference));
  // `replaced` is freed after the mutex: the end of an iterator may run Python, which releases the
  // GIL to threads that wait for the mutex.
  const std::lock_guard lock(last_->mutex);
  if (replaced.get().is(last_->iterator.get())) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::string(operator_name) +
                           ": the function returned an iterator that it has returned before, which "
                           "is used up",
                 .hint = "let each call make a new one: lambda: make_elements()"});
  }
  swap(replaced, last_->iterator);
  return iterator;
}

// The elements of iter(factory()).
class PythonGenerator {
 public:
  explicit PythonGenerator(nb::object iterator) : iterator_(shared(std::move(iterator))) {}
  std::optional<PythonObject> operator()() {
    const GilScope gil;
    nb::object value = nb::steal(PyIter_Next(iterator_->get().ptr()));
    if (value) return PythonObject(std::move(value));
    if (PyErr_Occurred()) throw_python_exception();
    return std::nullopt;
  }

 private:
  SharedObject iterator_;
};

// The factory of from_generator.
struct StartGenerator {
  PythonFunction factory;
  NewIterators iterators;

  PythonGenerator operator()() const {
    const GilScope gil;
    try {
      return PythonGenerator(iterators.of(factory(), "from_generator"));
    } catch (nb::python_error& error) {
      throw_raised(error);
    }
  }
  std::vector<Parameter> parameters() const { return factory.parameters(); }
};

PythonDataset generator(PythonFunction factory) {
  return PythonDataset(from_generator(StartGenerator{std::move(factory), {}}));
}

PythonDataset map(Self self, const PythonFunction& function) {
  auto call = [function](PythonObject& in, PythonObject& out, const Ticket&) {
    out = PythonObject(function(in.get()), in.origin());
  };
  return PythonDataset(mapped(self.objects(), make_map<PythonObject, PythonObject>(
                                                  function.parameters(), std::move(call))));
}

// The numpy.random.Generator draws from the element's own random numbers.
PythonDataset map_with_random(Self self, const PythonFunction& function, uint64_t seed) {
  const Dataset<PythonObject> input = self.objects();
  const uint64_t key = derive_key(seed, extension::random_operators(extension::node(input)));
  auto call = [function, key](PythonObject& in, PythonObject& out, const Ticket& ticket) {
    const Random random(key, ticket.id.epoch, ticket.id.index);
    out = PythonObject(function(in.get(), numpy_generator(random)), in.origin());
  };
  return PythonDataset(mapped(
      input, make_map<PythonObject, PythonObject>(function.parameters(), std::move(call)), seed));
}

class PythonFilter final : public extension::Predicate {
 public:
  explicit PythonFilter(PythonFunction predicate) : predicate_(std::move(predicate)) {}

  void test(size_t count, const void* values, uint8_t* kept,
            extension::Failures& failures) const override {
    const auto* const in = static_cast<const PythonObject*>(values);
    visit_each({}, count, in, failures, [&](size_t i) {
      const nb::object result = predicate_(in[i].get());
      const int truth = PyObject_IsTrue(result.ptr());
      if (truth < 0) throw nb::python_error();
      kept[i] = static_cast<uint8_t>(truth);
    });
  }
  std::vector<Parameter> parameters() const override { return predicate_.parameters(); }

 private:
  PythonFunction predicate_;
};

PythonDataset filter(Self self, PythonFunction predicate) {
  const Dataset<PythonObject> input = self.objects();
  return PythonDataset(extension::dataset<PythonObject>(
      input, extension::filter(extension::node(input),
                               std::make_unique<PythonFilter>(std::move(predicate)))));
}

// Returns the Dataset that a function has returned; null if it has returned something else.
const PythonDataset* dataset_in(const nb::object& returned, nb::object& native) {
  native = nb::getattr(returned, "_native", nb::none());
  return nb::isinstance<PythonDataset>(native) ? &nb::cast<const PythonDataset&>(native) : nullptr;
}

// What the function of flat_map has returned for an element.
struct FlatMapResult {
  std::vector<PythonObject> elements;
  extension::FlatMapRest rest;

  friend uint64_t heap_bytes(const FlatMapResult& result) {
    return recordpipe::heap_bytes(result.elements);
  }
};

extension::FlatMapRest rest_of(const Dataset<PythonObject>& elements) {
  const GilRelease no_gil;
  // A pass knows the epoch of its dataset.
  return {.dataset = extension::node(elements),
          .epoch = elements.with_options({.threads = 1}).iterate().epoch()};
}

// The elements before an exception are there, too.
void collect_into(FlatMapResult& out, const nb::object& iterator, const Origin& origin,
                  const Ticket& ticket) {
  try {
    for (const nb::handle value : iterator) out.elements.emplace_back(nb::borrow(value), origin);
  } catch (nb::python_error& error) {
    try {
      throw_raised(error, note_of(origin, &ticket));
    } catch (...) {
      out.rest.error = std::current_exception();
    }
  }
}

const extension::ElementOps& flat_map_result() {
  static const extension::VectorOps vector{
      extension::element_ops<PythonObject>(),
      [](const void* result) { return static_cast<const FlatMapResult*>(result)->elements.size(); },
      [](void* result, size_t size) { static_cast<FlatMapResult*>(result)->elements.resize(size); },
      [](void* result) -> void* { return static_cast<FlatMapResult*>(result)->elements.data(); }};
  static const extension::ElementOps ops = [] {
    extension::ElementOps of_result = extension::element_ops<FlatMapResult>();
    of_result.vector = &vector;
    return of_result;
  }();
  return ops;
}

extension::FlatMapRest* rest_of_flat_map(void* result) {
  return &static_cast<FlatMapResult*>(result)->rest;
}

// The elements of a Dataset are read on by the pipeline.
PythonDataset flat_map(Self self, const PythonFunction& function) {
  auto call = [function, iterators = NewIterators()](PythonObject& in, FlatMapResult& out,
                                                     const Ticket& ticket) {
    out.elements.clear();
    out.rest = {};
    const nb::object returned = function(in.get());
    nb::object native;
    if (const PythonDataset* const dataset = dataset_in(returned, native)) {
      require_not_replaced(*dataset);
      out.rest = rest_of(dataset->objects());
    } else {
      collect_into(out, iterators.of(returned, "flat_map"), in.origin(), ticket);
    }
  };
  const Dataset<PythonObject> input = self.objects();
  return PythonDataset(extension::dataset<PythonObject>(
      input, extension::flat_map(
                 extension::node(input),
                 make_map<PythonObject, FlatMapResult>(function.parameters(), std::move(call)),
                 flat_map_result(), rest_of_flat_map)));
}

PythonDataset interleave(Self self, const PythonFunction& function, size_t cycle_length,
                         size_t block_length) {
  auto call = [function](PythonObject& in, extension::NodePtr& out, const Ticket&) {
    const nb::object returned = function(in.get());
    nb::object native;
    const PythonDataset* const dataset = dataset_in(returned, native);
    if (!dataset) {
      refuse_type(
          "the function of interleave() returned %.100S, not a Dataset; flat_map() takes other "
          "iterables",
          returned);
    }
    require_not_replaced(*dataset);
    out = extension::node(dataset->objects());
  };
  const Dataset<PythonObject> input = self.objects();
  return PythonDataset(extension::dataset<PythonObject>(
      input,
      extension::interleave(
          extension::node(input),
          make_map<PythonObject, extension::NodePtr>(function.parameters(), std::move(call)),
          extension::element_ops<PythonObject>(), "interleave", cycle_length, block_length)));
}

// One step of scan: (state, element) -> state and output.
struct ScanStep {
  PythonFunction function;
  PythonObject initial;

  std::pair<PythonObject, PythonObject> operator()(const PythonObject& state,
                                                   const PythonObject& element) const {
    const GilScope gil;
    try {
      const nb::object before =
          state.get() ? state.get() : nb::module_::import_("copy").attr("deepcopy")(initial.get());
      const nb::object result = function(before, element.get());
      if (!nb::isinstance<nb::tuple>(result) || nb::len(result) != 2) {
        PyErr_SetString(PyExc_TypeError, "scan: the function returns a tuple (state, output)");
        throw nb::python_error();
      }
      return {PythonObject(result[0]), PythonObject(result[1], element.origin())};
    } catch (nb::python_error& error) {
      throw_raised(error, record_note(element.origin()));
    }
  }
  std::vector<Parameter> parameters() const { return function.parameters(); }
};

PythonDataset scan(Self self, nb::object initial_state, PythonFunction function) {
  // Each pass has its own copy of the initial state, which its function may change in place: no
  // object stands for it.
  return PythonDataset(self.objects().scan(
      PythonObject(), ScanStep{std::move(function), PythonObject(std::move(initial_state))}));
}

PythonDataset enumerate(Self self, int64_t start) {
  return PythonDataset(self.objects().enumerate(start).map([](Enumerated<PythonObject> numbered) {
    const GilScope gil;
    return PythonObject(nb::make_tuple(numbered.first, numbered.second.get()),
                        numbered.second.origin());
  }));
}

// element -> (element, path, number of the record in the file)
PythonDataset with_origin(Self self) {
  if (!self.rows() && !self.single() && !std::holds_alternative<Dataset<Record>>(self.elements()) &&
      !std::holds_alternative<Dataset<PythonObject>>(self.elements())) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "with_origin: a batch doesn't come from one record",
                 .hint = "call it before batch()"});
  }
  const auto call = [](PythonObject& in, PythonObject& out, const Ticket&) {
    const Origin& origin = in.origin();
    if (!origin.path) {
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "with_origin: an element that doesn't come from one record",
                   .hint = "call it behind tfrecords() or parse(), before batch()"});
    }
    out = PythonObject(nb::make_tuple(in.get(), FilePath{*origin.path}, origin.number), origin);
  };
  return PythonDataset(mapped(self.objects(), make_map<PythonObject, PythonObject>({}, call)));
}

}  // namespace

void define_function_operators(nb::module_& module, DatasetClass& dataset) {
  dataset.def("map", &map)
      .def("map_with_random", &map_with_random)
      .def("filter", &filter)
      .def("flat_map", &flat_map)
      .def("interleave", &interleave)
      .def("scan", &scan, nb::arg().none(), nb::arg())
      .def("enumerate", &enumerate)
      .def("with_origin", &with_origin);
  module.def("from_generator", &generator);
}

}  // namespace recordpipe::python
