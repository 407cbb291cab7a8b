// Exceptions between Python and the pipelines.
#pragma once

#include <exception>

#include <nanobind/nanobind.h>

#include "python/native/python_object.h"
#include "recordpipe/error.h"

namespace recordpipe::python {

// An exception of a function in Python. Unlike nb::python_error, it may be thrown any number of
// times: an iterator throws its error again at each call.
class PythonException : public std::exception {
 public:
  // Needs the GIL.
  explicit PythonException(nb::python_error& error);
  const char* what() const noexcept override { return "a Python exception"; }
  // Sets Python's error indicator. Needs the GIL.
  void raise() const;

 private:
  SharedObject value_;
  SharedObject traceback_;  // as it was when the function returned
};

// Throws what a function in Python has raised, as a PythonException, or Error{cancelled} if it was
// raised by the interrupt of the wait (keep_if_raised_by_interrupt()). Needs the GIL.
[[noreturn]] void throw_raised(nb::python_error& error);
// Throws Error{cancelled}.
[[noreturn]] void throw_cancelled();

// Returns the exception of recordpipe/errors.py for `error`. Needs the GIL.
nb::object to_python(const Error& error);

// Makes functions of this module raise recordpipe::Error as the classes of recordpipe/errors.py,
// and PythonException as the exception that it holds.
void translate_errors();

}  // namespace recordpipe::python
