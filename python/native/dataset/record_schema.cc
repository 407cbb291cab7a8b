#include "python/native/dataset/record_schema.h"

#include <cstddef>

#include "python/native/toolkit/schema.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe::python {

void define_record_schema(nb::module_& module) {
  // Takes a list of bytes; returns the arguments of Schema._of().
  module.def("schema_of_records", [](const nb::list& records) {
    InferredSchema schema;
    MessageView message;
    for (const nb::handle item : records) {
      const auto record = nb::cast<nb::bytes>(item);
      message.read({static_cast<const std::byte*>(record.data()), record.size()});
      schema.add(message, record.size());
    }
    return to_python(schema);
  });
}

}  // namespace recordpipe::python
