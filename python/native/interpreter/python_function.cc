#include "python/native/interpreter/python_function.h"

namespace recordpipe::python {

std::vector<Parameter> PythonFunction::parameters() const {
  std::vector<Parameter> all;
  if (!name.empty()) all.emplace_back("name", name);
  if (!code.empty()) all.emplace_back("code", code, Parameter::Kind::code);
  for (const std::string& part : not_compared) {
    all.emplace_back("not_compared", part, Parameter::Kind::not_compared);
  }
  if (!called.empty()) all.emplace_back("called", called, Parameter::Kind::called);
  return all;
}

int64_t to_integer(nb::handle number) {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index) throw nb::python_error();
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) throw nb::python_error();
  return value;
}

void refuse_type(const char* format, const nb::object& value) {
  PyErr_Format(PyExc_TypeError, format, nb::object(value.type().attr("__name__")).ptr());
  throw nb::python_error();
}

void throw_python_exception() {
  nb::python_error error;
  throw_raised(error);
}

std::string note_of(const Origin& origin, const extension::Ticket* ticket) {
  if (origin.path) return record_note(origin);
  if (!ticket) return {};
  return "number " + std::to_string(ticket->id.index) +
         " of the elements or batches of its source, counted from 0";
}

}  // namespace recordpipe::python
