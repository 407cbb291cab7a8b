// Exceptions between Python and the pipelines.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <nanobind/nanobind.h>

#include "python/native/values/python_object.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {

// The start of the notes that this library adds to exceptions.
inline constexpr std::string_view kNotePrefix = "recordpipe: ";

// An exception of a function in Python. Unlike nb::python_error, it may be thrown any number of
// times: an iterator throws its error again at each call.
class PythonException : public std::exception {
 public:
  // Needs the GIL.
  //   note: (after kNotePrefix) is added to the exception when it is raised
  //   (BaseException.add_note), in place of the
  //         note of another element, unless it is empty or the exception refuses notes
  explicit PythonException(nb::python_error& error, std::string note = {});
  const char* what() const noexcept override { return "a Python exception"; }
  // The exception, with the note. Needs the GIL.
  nb::object value() const;
  // Sets Python's error indicator. Needs the GIL.
  void raise() const;

 private:
  void add_note() const;

  SharedObject value_;
  std::string note_;
  SharedObject traceback_;  // as it was when the function returned
};

// The exception of a file system in Python (python_file_system.h): an Error for what asks for the
// kind of a failure, or reports it; raised as the exception itself.
class PythonFileError : public Error {
 public:
  PythonFileError(Parts parts, PythonException exception)
      : Error(std::move(parts)), exception_(std::move(exception)) {}
  const PythonException& exception() const { return exception_; }

 private:
  PythonException exception_;
};

// Throws what a function in Python has raised, as a PythonException, or Error{cancelled} if it was
// raised by the interrupt of the wait (keep_if_raised_by_interrupt()). Needs the GIL.
[[noreturn]] void throw_raised(nb::python_error& error, const std::string& note = {});
// Throws Error{cancelled}.
[[noreturn]] void throw_cancelled();

// Returns the exception of recordpipe/errors.py for `error`. Needs the GIL.
nb::object to_python(const Error& error);

// Makes functions of this module raise recordpipe::Error as the classes of recordpipe/errors.py,
// and PythonException as the exception that it holds.
void translate_errors();

}  // namespace recordpipe::python
