// Python functions as the functions of operators. They are called on the pipeline's threads, with
// the GIL; a chunk of elements is processed each time the GIL is acquired.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/values/python_object.h"
#include "recordpipe/base/internal/work_owner.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/pipeline/extension.h"

namespace recordpipe::python {

// A function, and what identifies it in the plan, so that a state of another one is refused; "" is
// left out. Made by python/recordpipe/_plan/function_identity.py.
struct PythonFunction {
  SharedObject function;
  std::string name = {};
  std::string code = {};                       // a fingerprint
  std::vector<std::string> not_compared = {};  // what the fingerprint leaves out
  std::string called = {};                     // of a profile

  std::vector<Parameter> parameters() const;
  // Needs the GIL.
  template <class... Args>
  nb::object operator()(const Args&... args) const {
    return function->get()(args...);
  }
};

// Returns operator.index(number); throws nb::python_error. Needs the GIL.
int64_t to_integer(nb::handle number);

// Throw TypeError, with the name of the type for %.100S; and what Python has raised. Need the GIL.
[[noreturn]] void refuse_type(const char* format, const nb::object& value);
[[noreturn]] void throw_python_exception();

// The note of an exception: where the element comes from.
std::string note_of(const Origin& origin, const extension::Ticket* ticket);

inline Origin origin_of_input(const PythonObject& element) { return element.origin(); }
template <class T>
Origin origin_of_input(const T&) {
  return {};
}

// Calls visit(i) for each of the `count` inputs that has not failed, under the GIL.
template <class In, class Visit>
void visit_each(std::span<const extension::Ticket> tickets, size_t count, const In* inputs,
                extension::Failures& failures, const Visit& visit) {
  const GilScope gil;
  extension::for_each_good(count, failures, [&](size_t i) {
    if (internal::works_in_vain()) throw_cancelled();
    try {
      visit(i);
    } catch (nb::python_error& error) {
      const extension::Ticket* const ticket = i < tickets.size() ? &tickets[i] : nullptr;
      throw_raised(error, note_of(origin_of_input(inputs[i]), ticket));
    }
  });
}

// Calls call(input, output, ticket) for each element.
template <class In, class Out, class Call>
class PythonMap final : public extension::MapFunction {
 public:
  PythonMap(std::vector<Parameter> parameters, Call call)
      : parameters_(std::move(parameters)), call_(std::move(call)) {}

  void apply(std::span<const extension::Ticket> tickets, void* inputs, void* outputs,
             extension::Failures& failures) const override {
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
std::unique_ptr<extension::MapFunction> make_map(std::vector<Parameter> parameters, Call call) {
  return std::make_unique<PythonMap<In, Out, Call>>(std::move(parameters), std::move(call));
}

}  // namespace recordpipe::python
