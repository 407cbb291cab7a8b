// The extension module recordpipe._native. The package's Python files document its classes, and
// translate arguments; nothing else uses this module.
#include "python/native/module.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/parallel/crew.h"
#include "python/native/dataset/dataset_files.h"
#include "python/native/dataset/elements.h"
#include "python/native/dataset/operators.h"
#include "python/native/dataset/record_files.h"
#include "python/native/dataset/unlisted.h"
#include "python/native/files/file_path.h"
#include "python/native/files/python_file_system.h"
#include "python/native/files/record_file_writer.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "python/native/iterate/iterator.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/base/version.h"
#include "recordpipe/decompression/more_compressions.h"

namespace recordpipe::python {
namespace {

void define_dataset(nb::module_& module) {
  nb::class_<ParseSpec>(module, "ParseSpec");
  const auto missing = [](bool nulls) {
    return nulls ? MissingFeatures::null : MissingFeatures::strict;
  };
  module.def(
      "example_spec",
      [=](const nb::list& features, bool nulls, nb::object watch) {
        return std::make_shared<ParseSpec>(example_spec(features, missing(nulls), watch_of(watch)));
      },
      nb::arg(), nb::arg(), nb::arg().none());
  module.def(
      "sequence_example_spec",
      [=](const nb::list& context, const nb::list& feature_lists, bool nulls, bool of_example_lists,
          nb::object watch) {
        return std::make_shared<ParseSpec>(sequence_example_spec(
            context, feature_lists, missing(nulls), of_example_lists, watch_of(watch)));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("warn_of_unlisted", &warn_of_unlisted);

  nb::class_<PythonFunction>(module, "Function")
      .def("__init__",
           [](PythonFunction* self, nb::object function, std::string name, std::string code,
              std::vector<std::string> not_compared, std::string called) {
             new (self) PythonFunction{shared(std::move(function)), std::move(name),
                                       std::move(code), std::move(not_compared), std::move(called)};
           });

  DatasetClass dataset(module, "Dataset");
  dataset.def("parse", &PythonDataset::parse)
      .def("is_parsed",
           [](Self self) {
             return self.rows() && std::holds_alternative<Dataset<Record>>(self.elements()) &&
                    self.spec()->collator.tfds() == nullptr;
           })
      .def("has_steps", &PythonDataset::has_steps)
      .def("rows", &PythonDataset::rows)
      .def("computed", &PythonDataset::computed)
      .def("cardinality",
           [](Self self) {
             return interruptible([&](std::stop_token stop) {
               const internal::CallStopScope scope(std::move(stop));
               return self.visit([](const auto& d) { return d.cardinality(); });
             });
           })
      .def("plan_hash", &PythonDataset::plan_hash)
      .def("require_not_read", &require_not_read);
  define_order_operators(dataset);
  define_function_operators(module, dataset);
  define_grouping_operators(dataset);
  define_combining_operators(module, dataset);
  define_image_operators(module);
  define_sources(module);

  nb::class_<WriteInProgress>(module, "WriteInProgress")
      .def(nb::init<SharedFiles, const std::vector<FilePath>&>())
      .def("__enter__", &WriteInProgress::enter)
      .def("__exit__", [](WriteInProgress& self, const nb::args&) { self.exit(); });
}

void define_elements(nb::module_& module) {
  nb::class_<Elements>(module, "Elements")
      .def(nb::init<const PythonDataset&, uint64_t>())
      .def("__len__", &Elements::size)
      .def("get", &Elements::get);
  nb::class_<RecordFiles>(module, "RecordFiles")
      .def("__init__",
           [](RecordFiles* self, const SharedFiles& files, const std::vector<FilePath>& paths,
              bool check_crc, const std::string& compression) {
             new (self) RecordFiles(files, strings(paths), read_options(check_crc, compression));
           })
      .def("__init__",
           [](RecordFiles* self,
              const std::vector<std::tuple<FilePath, uint64_t, uint64_t, uint64_t>>& parts,
              bool check_crc) {
             std::vector<std::string> paths;
             std::vector<tfds::FileRange> ranges;
             for (const auto& [path, begin, end, records] : parts) {
               paths.push_back(path.bytes);
               ranges.push_back({path.bytes, begin, end, records});
             }
             new (self)
                 RecordFiles(files_of_this_machine(), paths, read_options(check_crc, ""), ranges);
           })
      .def("__len__", &RecordFiles::size)
      .def("files", &RecordFiles::files)
      .def("get", &RecordFiles::get)
      .def("get_many", &RecordFiles::get_many)
      .def("parse_many", [](const RecordFiles& self, const std::vector<uint64_t>& indexes,
                            std::shared_ptr<ParseSpec> spec,
                            bool single) { return self.parse_many(indexes, *spec, single); });
}

void define_writer(nb::module_& module) {
  module.def("encode_example",
             [](const nb::dict& features) { return bytes_of(encode_example(features)); });
  nb::class_<RecordFileWriter>(module, "RecordFileWriter")
      .def("__init__",
           [](RecordFileWriter* self, const SharedFiles& files, const FilePath& path,
              const std::string& compression, int level, bool index) {
             new (self) RecordFileWriter(files, path.bytes,
                                         {*compression_named(compression), level}, index);
           })
      .def("write",
           [](RecordFileWriter& self, const nb::bytes& record) {
             const std::span data(static_cast<const std::byte*>(record.data()), record.size());
             const GilRelease no_gil;
             self.write(data);
           })
      .def("finish", &RecordFileWriter::finish, nb::call_guard<GilRelease>())
      .def("close", &RecordFileWriter::close, nb::call_guard<GilRelease>())
      .def("abort", &RecordFileWriter::abort, nb::call_guard<GilRelease>())
      .def_prop_ro("records", &RecordFileWriter::records);
}

void define_iterator(nb::module_& module) {
  nb::class_<PythonIterator>(module, "Iterator")
      .def(nb::init<const PythonDataset&, std::optional<uint64_t>, nb::object>(), nb::arg(),
           nb::arg().none(), nb::arg().none())
      .def(
          "__iter__", [](nb::handle self) { return self; },
          nb::sig("def __iter__(self) -> Iterator"))
      .def("__next__", &PythonIterator::next, nb::sig("def __next__(self) -> typing.Any"))
      .def("_state", &PythonIterator::state)
      .def("_restore",
           [](PythonIterator& self, const nb::bytes& state) { self.restore(view(state)); })
      .def("_leases",
           [](const PythonIterator& self) {
             const LeasePool::Counts counts = self.leases();
             return nb::make_tuple(counts.batches, counts.allocated, counts.lent);
           })
      .def("_with_own_code",
           [](PythonIterator& self, const nb::bytes& state) {
             return bytes_of(self.with_own_code(view(state)));
           })
      .def_prop_ro("_not_compared", &PythonIterator::not_compared)
      .def_prop_ro("_plan_hash", &PythonIterator::plan_hash)
      .def_prop_ro("_workers", &PythonIterator::workers)
      .def("_set_conversion", &PythonIterator::set_conversion)
      .def("_set_at_first", &PythonIterator::set_at_first)
      .def("_statistics", &PythonIterator::statistics)
      .def("_skipped",
           [](PythonIterator& self) {
             const SkippedReport report = self.skipped();
             nb::list first;
             for (const SkippedElement& element : report.first) {
               first.append(nb::make_tuple(
                   element.path.empty() ? nb::none() : nb::cast(FilePath{element.path}),
                   element.offset, element.reason));
             }
             const auto& [regions, bytes, compressed_bytes] = report.damage;
             return nb::make_tuple(report.count, first, report.damaged_files, regions, bytes,
                                   compressed_bytes);
           })
      .def("close", &PythonIterator::close)
      .def_prop_ro("epoch", &PythonIterator::epoch)
      .def_prop_ro("position", &PythonIterator::position);
  module.def("moved_state", [](const nb::bytes& state, uint64_t count) {
    return bytes_of(moved_state(view(state), count));
  });
  module.def("next_epoch_state",
             [](const nb::bytes& state) { return bytes_of(next_epoch_state(view(state))); });
  module.def("position_of_state",
             [](const nb::bytes& state) { return position_of_state(view(state)); });
}

}  // namespace
}  // namespace recordpipe::python

// Called by PyInit__native() below.
NB_MODULE(_native_of_main_interpreter, module) {
  using namespace recordpipe::python;
  // nanobind would report, when the interpreter ends, each object of this module that lives. That
  // is normal: the garbage collector can't see a Dataset's reference to a function, so a script's
  // global Dataset and the function with these globals keep each other alive. After fork(), the
  // references of the parent's threads are never released.
  nanobind::set_leak_warnings(false);
  // Processes that use Python fork while iterators live: multiprocessing, PyTorch's DataLoader.
  recordpipe::parallel::use_plain_threads();
  recordpipe::read_more_compressions();
  define_gil();
  translate_errors();
  define_files(module);
  define_random(module);
  define_dataset(module);
  define_elements(module);
  define_steps(module);
  define_writer(module);
  define_iterator(module);
  define_schema(module);
  define_tensor(module);
  define_arrow(module);
  define_tfds(module);
  define_toolkit(module);
  define_conversion(module);
  define_manifest(module);
  define_shards(module);
  module.attr("version") = RECORDPIPE_VERSION;
  module.attr("INFINITE_CARDINALITY") = recordpipe::kInfiniteCardinality;
  module.attr("UNKNOWN_CARDINALITY") = recordpipe::kUnknownCardinality;
}

// In a sub-interpreter, raises ImportError before nanobind, whose state is that of the last
// interpreter with the module, has forgotten the main one.
extern "C" NB_EXPORT PyObject* PyInit__native() {
  return recordpipe::python::is_main_interpreter() ? PyInit__native_of_main_interpreter() : nullptr;
}
