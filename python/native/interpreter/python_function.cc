#include "python/native/interpreter/python_function.h"

#include <string_view>
#include <type_traits>
#include <utility>

#include "python/native/dataset/dataset.h"
#include "python/native/dataset/dataset_files.h"
#include "python/native/files/file_path.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/values/random_generator.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/work_owner.h"
#include "recordpipe/pipeline/extension.h"

namespace recordpipe::python {
namespace {

using extension::Failures;
using extension::MapFunction;
using internal::Ticket;

// The note of an exception: where the element comes from.
std::string note_of(const Origin& origin, const Ticket* ticket) {
  if (origin.path) return record_note(origin);
  if (!ticket) return {};
  return "number " + std::to_string(ticket->id.index) +
         " of the elements or batches of its source, counted from 0";
}

Origin origin_of_input(const PythonObject& element) { return element.origin(); }
template <class T>
Origin origin_of_input(const T&) {
  return {};
}

// Calls visit(i) for each of the `count` inputs that has not failed, under the GIL.
template <class In, class Visit>
void visit_each(std::span<const Ticket> tickets, size_t count, const In* inputs, Failures& failures,
                const Visit& visit) {
  const GilScope gil;
  extension::for_each_good(count, failures, [&](size_t i) {
    if (internal::works_in_vain()) throw_cancelled();
    try {
      visit(i);
    } catch (nb::python_error& error) {
      const Ticket* const ticket = i < tickets.size() ? &tickets[i] : nullptr;
      throw_raised(error, note_of(origin_of_input(inputs[i]), ticket));
    }
  });
}

// Calls call(input, output, ticket) for each element.
template <class In, class Out, class Call>
class PythonMap final : public MapFunction {
 public:
  PythonMap(std::vector<Parameter> parameters, Call call)
      : parameters_(std::move(parameters)), call_(std::move(call)) {}

  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    auto* const in = static_cast<In*>(inputs);
    auto* const out = static_cast<Out*>(outputs);
    visit_each(tickets, tickets.size(), in, failures,
               [&](size_t i) { call_(in[i], out[i], tickets[i]); });
  }
  std::vector<Parameter> parameters() const override { return parameters_; }

 private:
  std::vector<Parameter> parameters_;
  Call call_;
};

template <class In, class Out, class Call>
std::unique_ptr<MapFunction> make_map(std::vector<Parameter> parameters, Call call) {
  return std::make_unique<PythonMap<In, Out, Call>>(std::move(parameters), std::move(call));
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

[[noreturn]] void refuse_type(const char* format, const nb::object& value) {
  PyErr_Format(PyExc_TypeError, format, nb::object(value.type().attr("__name__")).ptr());
  throw nb::python_error();
}

// The record shares the memory of the bytes.
Record to_record(PythonObject object) {
  const nb::object value = object.get();
  if (!nb::isinstance<nb::bytes>(value)) {
    refuse_type("parse() needs the bytes of a record, not %.100S", value);
  }
  const nb::bytes bytes(value);
  const auto* const data = static_cast<const std::byte*>(bytes.data());
  const auto owner = std::make_shared<const PythonObject>(std::move(object));
  const Origin& origin = owner->origin();
  return {.data = {data, bytes.size()},
          .offset = origin.offset,
          .path = origin.path ? std::string_view(*origin.path) : std::string_view(),
          .owner = std::shared_ptr<const std::byte[]>(owner, data),
          .number = origin.number};
}

class PythonFilter final : public extension::Predicate {
 public:
  explicit PythonFilter(PythonFunction predicate) : predicate_(std::move(predicate)) {}

  void test(size_t count, const void* values, uint8_t* kept, Failures& failures) const override {
    const auto* const in = static_cast<const PythonObject*>(values);
    visit_each({}, count, in, failures, [&](size_t i) {
      const nb::object result = predicate_.function->get()(in[i].get());
      const int truth = PyObject_IsTrue(result.ptr());
      if (truth < 0) throw nb::python_error();
      kept[i] = static_cast<uint8_t>(truth);
    });
  }
  std::vector<Parameter> parameters() const override { return predicate_.parameters(); }

 private:
  PythonFunction predicate_;
};

class PythonSizes final : public extension::MeasureFunction {
 public:
  PythonSizes(PythonFunction function, size_t count)
      : function_(std::move(function)), count_(count) {}
  size_t sizes_per_element() const override { return count_; }
  void measure(size_t count, const void* values, uint64_t* sizes,
               Failures& failures) const override {
    const auto* const in = static_cast<const PythonObject*>(values);
    visit_each({}, count, in, failures, [&](size_t i) {
      const nb::object result = function_.function->get()(in[i].get());
      uint64_t* const out = sizes + i * count_;
      if (PyIndex_Check(result.ptr())) {
        *out = length_of(result);
        return;
      }
      size_t at = 0;
      for (const nb::handle size : result) {
        if (at < count_) out[at] = length_of(size);
        ++at;
      }
      if (at != count_) internal::fail_number_of_sizes(at, count_);
    });
  }
  std::vector<Parameter> parameters() const override { return function_.parameters(); }

 private:
  static uint64_t length_of(nb::handle number) {
    const int64_t value = to_integer(number);
    if (value < 0) internal::fail_negative_size();
    return static_cast<uint64_t>(value);
  }

  PythonFunction function_;
  size_t count_;
};

class RecordsToPython final : public MapFunction {
 public:
  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    const auto* const in = static_cast<const Record*>(inputs);
    auto* const out = static_cast<PythonObject*>(outputs);
    std::shared_ptr<const std::string> path;
    visit_each(tickets, tickets.size(), in, failures,
               [&](size_t i) { out[i] = to_python(in[i], path); });
  }
  std::vector<Parameter> parameters() const override { return {}; }
};

// `Batch` is ParsedBatch or ImageBatch.
template <class Batch>
class BatchesToPython final : public MapFunction {
 public:
  BatchesToPython(std::shared_ptr<const ParseSpec> spec, std::shared_ptr<LeasePool> pool,
                  bool single)
      : spec_(std::move(spec)), pool_(std::move(pool)), single_(single) {}
  ~BatchesToPython() override { pool_->close(); }

  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    auto* const in = static_cast<Batch*>(inputs);
    auto* const out = static_cast<PythonObject*>(outputs);
    visit_each(tickets, tickets.size(), in, failures, [&](size_t i) {
      Origin origin;
      if constexpr (std::is_same_v<Batch, ParsedBatch>) origin = std::move(in[i].origin);
      out[i] =
          PythonObject(to_python(pool_->lend(in[i]), pool_, *spec_, single_), std::move(origin));
    });
  }
  std::vector<Parameter> parameters() const override { return {}; }

 private:
  std::shared_ptr<const ParseSpec> spec_;
  std::shared_ptr<LeasePool> pool_;
  bool single_;
};

}  // namespace

std::vector<Parameter> FunctionIdentity::parameters() const {
  std::vector<Parameter> all;
  if (!name.empty()) all.emplace_back("name", name);
  if (!code.empty()) all.emplace_back("code", code, Parameter::Kind::code);
  for (const std::string& part : not_compared) {
    all.emplace_back("not_compared", part, Parameter::Kind::not_compared);
  }
  return all;
}

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

std::unique_ptr<MapFunction> python_map(PythonFunction function) {
  return make_map<PythonObject, PythonObject>(
      function.parameters(), [function](PythonObject& in, PythonObject& out, const Ticket&) {
        out = PythonObject(function.function->get()(in.get()), in.origin());
      });
}

std::unique_ptr<MapFunction> python_random_map(PythonFunction function, uint64_t key) {
  return make_map<PythonObject, PythonObject>(
      function.parameters(),
      [function, key](PythonObject& in, PythonObject& out, const Ticket& ticket) {
        const Random random(key, ticket.id.epoch, ticket.id.index);
        out =
            PythonObject(function.function->get()(in.get(), numpy_generator(random)), in.origin());
      });
}

std::unique_ptr<extension::Predicate> python_filter(PythonFunction predicate) {
  return std::make_unique<PythonFilter>(std::move(predicate));
}

std::unique_ptr<MapFunction> python_flat_map(PythonFunction function) {
  return make_map<PythonObject, FlatMapResult>(
      function.parameters(), [function, iterators = NewIterators()](
                                 PythonObject& in, FlatMapResult& out, const Ticket& ticket) {
        out.elements.clear();
        out.rest = {};
        const nb::object returned = function.function->get()(in.get());
        nb::object native;
        if (const PythonDataset* const dataset = dataset_in(returned, native)) {
          require_not_replaced(*dataset);
          out.rest = rest_of(dataset->objects());
        } else {
          collect_into(out, iterators.of(returned, "flat_map"), in.origin(), ticket);
        }
      });
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

std::unique_ptr<MapFunction> python_interleave(PythonFunction function) {
  return make_map<PythonObject, extension::NodePtr>(
      function.parameters(), [function](PythonObject& in, extension::NodePtr& out, const Ticket&) {
        const nb::object returned = function.function->get()(in.get());
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
      });
}

int64_t to_integer(nb::handle number) {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index) throw nb::python_error();
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) throw nb::python_error();
  return value;
}

std::unique_ptr<extension::MeasureFunction> python_sizes(PythonFunction function, size_t count) {
  return std::make_unique<PythonSizes>(std::move(function), count);
}

std::unique_ptr<MapFunction> python_collate(PythonFunction function) {
  using Rows = std::vector<PythonObject>;
  return make_map<Rows, PythonObject>(function.parameters(),
                                      [function](const Rows& in, PythonObject& out, const Ticket&) {
                                        nb::list rows;
                                        for (const PythonObject& row : in) rows.append(row.get());
                                        out = PythonObject(function.function->get()(rows));
                                      });
}

std::unique_ptr<MapFunction> python_with_origin() {
  return make_map<PythonObject, PythonObject>(
      {}, [](PythonObject& in, PythonObject& out, const Ticket&) {
        const Origin& origin = in.origin();
        if (!origin.path) {
          throw Error({.kind = ErrorKind::unsupported,
                       .reason = "with_origin: an element that doesn't come from one record",
                       .hint = "call it behind tfrecords() or parse(), before batch()"});
        }
        out = PythonObject(nb::make_tuple(in.get(), FilePath{*origin.path}, origin.number), origin);
      });
}

std::unique_ptr<MapFunction> python_to_records() {
  return make_map<PythonObject, Record>(
      {}, [](PythonObject& in, Record& out, const Ticket&) { out = to_record(std::move(in)); });
}

std::unique_ptr<MapFunction> records_to_python() { return std::make_unique<RecordsToPython>(); }

std::unique_ptr<MapFunction> batches_to_python(std::shared_ptr<const ParseSpec> spec,
                                               std::shared_ptr<LeasePool> pool, bool single) {
  return std::make_unique<BatchesToPython<ParsedBatch>>(std::move(spec), std::move(pool), single);
}

std::unique_ptr<MapFunction> images_to_python(std::shared_ptr<const ParseSpec> spec,
                                              std::shared_ptr<LeasePool> pool) {
  return std::make_unique<BatchesToPython<ImageBatch>>(std::move(spec), std::move(pool), false);
}

}  // namespace recordpipe::python
