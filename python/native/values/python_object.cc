#include "python/native/values/python_object.h"

#include "python/native/interpreter/gil.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {
namespace {

// The memory of a NumPy array or bytes, or of the values of a dict, list or tuple of these.
uint64_t memory_of(nb::handle object, int depth = 0) {
  if (nb::isinstance<nb::bytes>(object)) return nb::borrow<nb::bytes>(object).size();
  if (depth < 2 && nb::isinstance<nb::dict>(object)) {
    uint64_t bytes = 0;
    for (const auto& [key, value] : nb::borrow<nb::dict>(object)) {
      bytes += memory_of(value, depth + 1);
    }
    return bytes;
  }
  if (depth < 2 && (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))) {
    uint64_t bytes = 0;
    for (const nb::handle value : nb::borrow<nb::sequence>(object)) {
      bytes += memory_of(value, depth + 1);
    }
    return bytes;
  }
  nb::object size = nb::getattr(object, "nbytes", nb::none());
  uint64_t bytes = 0;
  return nb::try_cast(size, bytes) ? bytes : 0;
}

}  // namespace

PythonObject::PythonObject(nb::object object, Origin origin)
    : bytes_(memory_of(object)), origin_(std::move(origin)) {
  object_ = object.release();
}

PythonObject::PythonObject(const PythonObject& other)
    : object_(other.object_), bytes_(other.bytes_), origin_(other.origin_) {
  if (!object_) return;
  const GilScope gil;
  object_.inc_ref();
}

PythonObject::~PythonObject() {
  if (!object_ || !nb::is_alive()) return;
  const GilScope gil;
  object_.dec_ref();
}

std::string record_note(const Origin& origin) {
  if (!origin.path) return {};
  return "the record of " + printable(*origin.path) + " at offset " + std::to_string(origin.offset);
}

Origin origin_of(const Record& record, std::shared_ptr<const std::string>& last) {
  if (!last || *last != record.path) last = std::make_shared<const std::string>(record.path);
  return {last, record.offset, record.number};
}

PythonObject to_python(const Record& record, std::shared_ptr<const std::string>& last) {
  return PythonObject(bytes_of(record.data), origin_of(record, last));
}

}  // namespace recordpipe::python
