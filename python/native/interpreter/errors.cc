#include "python/native/interpreter/errors.h"

#include <memory>

#include "python/native/interpreter/interrupt.h"

namespace recordpipe::python {
namespace {

nb::object text_or_none(const std::string& text) {
  if (text.empty()) return nb::none();
  // A path may contain any bytes: as in os.fsdecode().
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// Whether a note of an exception is one of this library.
bool is_ours(nb::handle note) {
  return nb::isinstance<nb::str>(note) &&
         std::string_view(nb::borrow<nb::str>(note).c_str()).starts_with(kNotePrefix);
}

nb::object traceback_of(const nb::python_error& error) {
  nb::object traceback = error.traceback();
  return traceback ? traceback : nb::none();
}

}  // namespace

PythonException::PythonException(nb::python_error& error, std::string note)
    : note_(std::move(note)) {
  const auto keep = [this](nb::python_error& raised) {
    value_ = std::make_shared<const PythonObject>(nb::borrow(raised.value()));
    traceback_ = std::make_shared<const PythonObject>(traceback_of(raised));
  };
  if (!error.matches(PyExc_StopIteration)) {
    keep(error);
    return;
  }
  // An iterator that raises it has no more elements: as generators, raise another one.
  try {
    nb::raise_from(error, PyExc_RuntimeError, "a function of the pipeline raised StopIteration");
  } catch (nb::python_error& chained) {
    keep(chained);
  }
}

nb::object PythonException::value() const {
  if (!note_.empty()) add_note();
  nb::object value = value_->get();
  // Raising adds the callers to the exception's traceback: begin without those of earlier times.
  PyException_SetTraceback(value.ptr(), traceback_->get().ptr());
  return value;
}

void PythonException::raise() const {
  const nb::object raised = value();
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
}

void PythonException::add_note() const {
  const nb::object value = value_->get();
  try {
    // An exception object may be raised for many elements, and again for the same one.
    const nb::object notes = nb::getattr(value, "__notes__", nb::none());
    if (nb::isinstance<nb::list>(notes)) {
      nb::list others;
      for (const nb::handle other : nb::borrow<nb::list>(notes)) {
        if (!is_ours(other)) others.append(other);
      }
      value.attr("__notes__") = others;
    }
    const std::string note = std::string(kNotePrefix) + note_;
    value.attr("add_note")(nb::str(note.data(), note.size()));
  } catch (nb::python_error&) {
    // Frozen dataclasses, for example, take no notes; the user needs their own exception.
  }
}

nb::object to_python(const Error& error) {
  const nb::object make = nb::module_::import_("recordpipe.errors").attr("_make");
  const std::string kind(to_string(error.kind()));
  const nb::object offset =
      error.offset() ? nb::object(nb::int_(*error.offset())) : nb::object(nb::none());
  return make(kind.c_str(), error.what(), text_or_none(error.path()), offset,
              error.reason().c_str(), error.hint().c_str());
}

void throw_raised(nb::python_error& error, const std::string& note) {
  const PythonException exception(error, note);
  if (keep_if_raised_by_interrupt(std::make_exception_ptr(exception))) throw_cancelled();
  throw exception;
}

void throw_cancelled() {
  throw Error({.kind = ErrorKind::cancelled, .reason = "the iterator was stopped"});
}

namespace {

// Sets Python's error indicator to the exception of recordpipe/errors.py, or to KeyboardInterrupt,
// which Python may raise while it makes that exception.
void set_error(const Error& error) {
  try {
    const nb::object exception = to_python(error);
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const PythonException& exception) {
      exception.raise();
    } catch (const PythonFileError& error) {
      error.exception().raise();
    } catch (const Error& error) {
      set_error(error);
    }
  });
}

}  // namespace recordpipe::python
