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

// Calls visit(i) for each element that has not failed, under the GIL.
template <class Visit, class OriginOf>
void visit_each(std::span<const Ticket> tickets, size_t count, Failures& failures,
                const OriginOf& origin_of_element, const Visit& visit) {
  const GilScope gil;
  extension::for_each_good(count, failures, [&](size_t i) {
    if (internal::works_in_vain()) throw_cancelled();
    try {
      visit(i);
    } catch (nb::python_error& error) {
      throw_raised(error,
                   note_of(origin_of_element(i), i < tickets.size() ? &tickets[i] : nullptr));
    }
  });
}

template <class Call>
class PythonMap final : public MapFunction {
 public:
  PythonMap(PythonFunction function, Call call)
      : function_(std::move(function)), call_(std::move(call)) {}

  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    auto* const in = static_cast<PythonObject*>(inputs);
    auto* const out = static_cast<PythonObject*>(outputs);
    visit_each(
        tickets, tickets.size(), failures, [&](size_t i) { return in[i].origin(); },
        [&](size_t i) {
          out[i] = PythonObject(call_(function_.function->get(), in[i].get(), tickets[i]),
                                in[i].origin());
        });
  }
  std::vector<Parameter> parameters() const override { return function_.parameters(); }

 private:
  PythonFunction function_;
  Call call_;
};

template <class Call>
std::unique_ptr<MapFunction> make_map(PythonFunction function, Call call) {
  return std::make_unique<PythonMap<Call>>(std::move(function), std::move(call));
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

class PythonFlatMap final : public MapFunction {
 public:
  explicit PythonFlatMap(PythonFunction function) : function_(std::move(function)) {}

  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    auto* const in = static_cast<PythonObject*>(inputs);
    auto* const out = static_cast<FlatMapResult*>(outputs);
    visit_each(
        tickets, tickets.size(), failures, [&](size_t i) { return in[i].origin(); },
        [&](size_t i) {
          out[i].elements.clear();
          out[i].rest = {};
          const nb::object returned = function_.function->get()(in[i].get());
          nb::object native;
          if (const PythonDataset* const dataset = dataset_in(returned, native)) {
            require_not_replaced(*dataset);
            out[i].rest = rest_of(dataset->objects());
          } else {
            collect(returned, in[i].origin(), note_of(in[i].origin(), &tickets[i]), out[i]);
          }
        });
  }
  std::vector<Parameter> parameters() const override { return function_.parameters(); }

 private:
  static extension::FlatMapRest rest_of(const Dataset<PythonObject>& elements) {
    const GilRelease no_gil;
    // A pass knows the epoch of its dataset.
    return {.dataset = extension::node(elements),
            .epoch = elements.with_options({.threads = 1}).iterate().epoch()};
  }

  // The elements before an exception are there, too.
  void collect(const nb::object& returned, const Origin& origin, const std::string& note,
               FlatMapResult& out) const {
    const nb::object iterator = iterators_.of(returned, "flat_map");
    try {
      for (const nb::handle value : iterator) out.elements.emplace_back(nb::borrow(value), origin);
    } catch (nb::python_error& error) {
      try {
        throw_raised(error, note);
      } catch (...) {
        out.rest.error = std::current_exception();
      }
    }
  }

  PythonFunction function_;
  NewIterators iterators_;
};

class WithOrigin final : public MapFunction {
 public:
  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    auto* const in = static_cast<PythonObject*>(inputs);
    auto* const out = static_cast<PythonObject*>(outputs);
    visit_each(
        tickets, tickets.size(), failures, [](size_t) { return Origin(); },
        [&](size_t i) {
          const Origin& origin = in[i].origin();
          if (!origin.path) {
            throw Error({.kind = ErrorKind::unsupported,
                         .reason = "with_origin: an element that doesn't come from one record",
                         .hint = "call it behind tfrecords() or parse(), before batch()"});
          }
          out[i] = PythonObject(nb::make_tuple(in[i].get(), FilePath{*origin.path}, origin.number),
                                origin);
        });
  }
  std::vector<Parameter> parameters() const override { return {}; }
};

class ObjectsToRecords final : public MapFunction {
 public:
  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    auto* const in = static_cast<PythonObject*>(inputs);
    auto* const out = static_cast<Record*>(outputs);
    visit_each(
        tickets, tickets.size(), failures, [&](size_t i) { return in[i].origin(); },
        [&](size_t i) { out[i] = to_record(std::move(in[i])); });
  }
  std::vector<Parameter> parameters() const override { return {}; }

 private:
  // The record shares the memory of the bytes.
  static Record to_record(PythonObject object) {
    const nb::object value = object.get();
    if (!nb::isinstance<nb::bytes>(value)) {
      PyErr_Format(PyExc_TypeError, "parse() needs the bytes of a record, not %.100S",
                   nb::object(value.type().attr("__name__")).ptr());
      throw nb::python_error();
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
};

class PythonInterleave final : public MapFunction {
 public:
  explicit PythonInterleave(PythonFunction function) : function_(std::move(function)) {}

  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    auto* const in = static_cast<PythonObject*>(inputs);
    auto* const out = static_cast<extension::NodePtr*>(outputs);
    visit_each(
        tickets, tickets.size(), failures, [&](size_t i) { return in[i].origin(); },
        [&](size_t i) {
          const nb::object returned = function_.function->get()(in[i].get());
          nb::object native;
          const PythonDataset* const dataset = dataset_in(returned, native);
          if (!dataset) {
            PyErr_Format(PyExc_TypeError,
                         "the function of interleave() returned %.100S, not a Dataset; flat_map() "
                         "takes other iterables",
                         nb::object(returned.type().attr("__name__")).ptr());
            throw nb::python_error();
          }
          require_not_replaced(*dataset);
          out[i] = extension::node(dataset->objects());
        });
  }
  std::vector<Parameter> parameters() const override { return function_.parameters(); }

 private:
  PythonFunction function_;
};

class PythonFilter final : public extension::Predicate {
 public:
  explicit PythonFilter(PythonFunction predicate) : predicate_(std::move(predicate)) {}

  void test(size_t count, const void* values, uint8_t* kept, Failures& failures) const override {
    const auto* const in = static_cast<const PythonObject*>(values);
    visit_each(
        {}, count, failures, [&](size_t i) { return in[i].origin(); },
        [&](size_t i) {
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
    visit_each(
        {}, count, failures, [&](size_t i) { return in[i].origin(); },
        [&](size_t i) {
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

class Collate final : public MapFunction {
 public:
  explicit Collate(PythonFunction function) : function_(std::move(function)) {}

  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    auto* const in = static_cast<std::vector<PythonObject>*>(inputs);
    auto* const out = static_cast<PythonObject*>(outputs);
    visit_each(
        tickets, tickets.size(), failures, [](size_t) { return Origin(); },
        [&](size_t i) {
          nb::list rows;
          for (const PythonObject& row : in[i]) rows.append(row.get());
          out[i] = PythonObject(function_.function->get()(rows));
        });
  }
  std::vector<Parameter> parameters() const override { return function_.parameters(); }

 private:
  PythonFunction function_;
};

class RecordsToPython final : public MapFunction {
 public:
  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    const auto* const in = static_cast<const Record*>(inputs);
    auto* const out = static_cast<PythonObject*>(outputs);
    std::shared_ptr<const std::string> path;
    visit_each(
        tickets, tickets.size(), failures, [](size_t) { return Origin(); },
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
    visit_each(
        tickets, tickets.size(), failures, [](size_t) { return Origin(); },
        [&](size_t i) {
          Origin origin;
          if constexpr (std::is_same_v<Batch, ParsedBatch>) origin = std::move(in[i].origin);
          out[i] = PythonObject(to_python(pool_->lend(in[i]), pool_, *spec_, single_),
                                std::move(origin));
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
  return make_map(std::move(function), [](const nb::object& f, const nb::object& element,
                                          const Ticket&) { return f(element); });
}

std::unique_ptr<MapFunction> python_random_map(PythonFunction function, uint64_t key) {
  return make_map(std::move(function), [key](const nb::object& f, const nb::object& element,
                                             const Ticket& ticket) {
    return f(element, numpy_generator(Random(key, ticket.id.epoch, ticket.id.index)));
  });
}

std::unique_ptr<extension::Predicate> python_filter(PythonFunction predicate) {
  return std::make_unique<PythonFilter>(std::move(predicate));
}

std::unique_ptr<MapFunction> python_flat_map(PythonFunction function) {
  return std::make_unique<PythonFlatMap>(std::move(function));
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
  return std::make_unique<PythonInterleave>(std::move(function));
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
  return std::make_unique<Collate>(std::move(function));
}

std::unique_ptr<MapFunction> python_with_origin() { return std::make_unique<WithOrigin>(); }

std::unique_ptr<MapFunction> python_to_records() { return std::make_unique<ObjectsToRecords>(); }

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
