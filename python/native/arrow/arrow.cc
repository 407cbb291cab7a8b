// Tables in and out: the Arrow PyCapsule interface.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/native/arrow/arrow_abi.h"
#include "python/native/arrow/arrow_reader.h"
#include "python/native/arrow/arrow_stream.h"
#include "python/native/dataset/dataset.h"
#include "python/native/files/record_file_writer.h"
#include "python/native/interpreter/gil.h"
#include "python/native/module.h"

namespace recordpipe::python {
namespace {

// Moves a struct into a capsule of the name that the interface gives it. A consumer moves it out;
// otherwise, the capsule releases it.
template <class T>
nb::capsule capsule_of(std::unique_ptr<T> value, const char* name) {
  return nb::capsule(value.release(), name, [](void* pointer) noexcept {
    const std::unique_ptr<T> owned(static_cast<T*>(pointer));
    if (owned->release) owned->release(owned.get());
  });
}

// The struct of a capsule. Raises a Python exception for another object.
template <class T>
T& struct_of(nb::handle capsule, const char* name) {
  void* const pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (!pointer) throw nb::python_error();
  return *static_cast<T*>(pointer);
}

constexpr const char* kSchema = "arrow_schema";
constexpr const char* kArray = "arrow_array";
constexpr const char* kStream = "arrow_array_stream";

// Called without the GIL.
void check_signals() {
  const GilScope gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Writes Examples to files in turn.
class Files {
 public:
  Files(const nb::list& files, uint64_t records) : next_(records) {
    for (const nb::handle file : files) files_.push_back(nb::cast<RecordFileWriter*>(file));
  }
  void operator()(std::span<const std::byte> example) {
    files_[next_++ % files_.size()]->write(example);
  }

 private:
  std::vector<RecordFileWriter*> files_;
  uint64_t next_;
};

}  // namespace

void define_arrow(nb::module_& module) {
  module.def("arrow_schema", [](const PythonDataset& dataset) {
    auto schema = std::make_unique<ArrowSchema>();
    export_schema(dataset, *schema);
    return capsule_of(std::move(schema), kSchema);
  });
  // `required`, `usual`, `existing`: see NeededColumns.
  module.def("arrow_stream", [](const PythonDataset& dataset, std::vector<std::string> required,
                                std::vector<std::string> usual, nb::object existing) {
    auto stream = std::make_unique<ArrowArrayStream>();
    NeededColumns columns(std::move(required), std::move(usual),
                          std::make_shared<PythonObject>(std::move(existing)));
    export_stream(dataset, std::move(columns), *stream);
    return capsule_of(std::move(stream), kStream);
  });
  module.def("close_arrow_streams", &close_arrow_streams, nb::call_guard<GilRelease>());
  // Return the number of Examples. `records`: the number of records written before. `bits`: see
  // LargeIntegers.
  const auto large = [](bool bits) { return bits ? LargeIntegers::bits : LargeIntegers::refused; };
  module.def("write_arrow_stream", [=](nb::handle capsule, const nb::list& files, uint64_t records,
                                       bool bits, uint64_t first) {
    auto& stream = struct_of<ArrowArrayStream>(capsule, kStream);
    Files write(files, records);
    const GilRelease no_gil;
    return write_examples(stream, large(bits), first, write, check_signals);
  });
  module.def("write_arrow_array",
             [=](nb::handle schema_capsule, nb::handle array_capsule, const nb::list& files,
                 uint64_t records, bool bits, uint64_t first) {
               const auto& schema = struct_of<ArrowSchema>(schema_capsule, kSchema);
               const auto& array = struct_of<ArrowArray>(array_capsule, kArray);
               Files write(files, records);
               const GilRelease no_gil;
               return write_examples(schema, array, large(bits), first, write, check_signals);
             });
}

}  // namespace recordpipe::python
