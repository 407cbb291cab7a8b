// A Python object as an element of a pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nanobind/nanobind.h>

#include "recordpipe/record/record.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Where an element comes from, for error messages.
struct Origin {
  std::shared_ptr<const std::string> path;  // of the file; null for elements of other sources
  uint64_t offset = 0;
  uint64_t number = 0;  // of the record in the file
};

// For the note of an exception about an element with this origin; empty if it has no path.
std::string record_note(const Origin& origin);

// A reference to a Python object. Pipelines move, swap and destroy elements on any thread, so these
// operations need no GIL: the destructor and the copy constructor acquire it. After the interpreter
// has ended, references are leaked.
class PythonObject {
 public:
  PythonObject() = default;
  // Both need the GIL.
  explicit PythonObject(nb::object object, Origin origin = {});
  nb::object get() const { return nb::borrow(object_); }

  PythonObject(const PythonObject& other);
  PythonObject(PythonObject&& other) noexcept { swap(*this, other); }
  PythonObject& operator=(PythonObject other) noexcept {
    swap(*this, other);
    return *this;
  }
  ~PythonObject();

  const Origin& origin() const { return origin_; }

  friend void swap(PythonObject& a, PythonObject& b) noexcept {
    std::swap(a.object_, b.object_);
    std::swap(a.bytes_, b.bytes_);
    std::swap(a.origin_, b.origin_);
  }
  friend uint64_t heap_bytes(const PythonObject& object) { return object.bytes_; }

 private:
  nb::handle object_;
  uint64_t bytes_ = 0;  // estimated when the reference was made, because measuring needs the GIL
  Origin origin_;
};

// A Python object that is shared by threads without the GIL, for example the function of an
// operator. The last owner acquires the GIL to release it.
using SharedObject = std::shared_ptr<const PythonObject>;

// Bytes objects of spans and strings, and views of bytes objects. Need the GIL.
template <class Data>
nb::bytes bytes_of(const Data& data) {
  return nb::bytes(data.data(), data.size());
}
inline std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// Makes bytes of a record, and remembers its origin. `last` caches the path between calls. Needs
// the GIL.
PythonObject to_python(const Record& record, std::shared_ptr<const std::string>& last);
Origin origin_of(const Record& record, std::shared_ptr<const std::string>& last);

}  // namespace recordpipe::python
