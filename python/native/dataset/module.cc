// The extension module recordpipe._native. The package's Python files document its classes, and
// translate arguments; nothing else uses this module.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/parallel/crew.h"
#include "python/native/arrow/arrow.h"
#include "python/native/dataset/dataset.h"
#include "python/native/dataset/dataset_files.h"
#include "python/native/dataset/elements.h"
#include "python/native/dataset/image_operators.h"
#include "python/native/dataset/record_files.h"
#include "python/native/dataset/record_schema.h"
#include "python/native/dataset/steps.h"
#include "python/native/dataset/tfds.h"
#include "python/native/dataset/unlisted.h"
#include "python/native/files/file_path.h"
#include "python/native/files/files.h"
#include "python/native/files/python_file_system.h"
#include "python/native/files/record_file_writer.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "python/native/iterate/iterator.h"
#include "python/native/toolkit/file_work.h"
#include "python/native/toolkit/manifest.h"
#include "python/native/toolkit/schema.h"
#include "python/native/toolkit/shards.h"
#include "python/native/toolkit/toolkit.h"
#include "python/native/values/random_generator.h"
#include "python/native/values/tensor.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/base/version.h"
#include "recordpipe/decompression/more_compressions.h"
#include "recordpipe/pipeline/extension.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/list_files.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/input_files.h"

namespace recordpipe::python {
namespace {

using namespace nb::literals;

SharedObject shared(nb::object object) {
  return std::make_shared<const PythonObject>(std::move(object));
}

PackOptions packing(size_t open_rows, bool truncate) {
  return {.open_rows = open_rows, .too_long = truncate ? TooLong::truncate : TooLong::error};
}

// The files that folders, patterns, braces and sets of shards stand for.
std::vector<FilePath> record_paths(const SharedFiles& files, const std::vector<FilePath>& paths,
                                   bool recursive) {
  const FilesAndFolders found = interruptible([&](std::stop_token stop) {
    const internal::CallStopScope scope(std::move(stop));
    return find_files_and_folders(*files, strings(paths), {.recursive = recursive});
  });
  warn(left_out_note(found));
  return file_paths(found.files);
}

// Opens one of several files that are read at a time.
struct OpenRecords {
  std::shared_ptr<FileSystem> files;
  RecordReadOptions options;
  DamageOptions damage;

  Dataset<Record> operator()(std::string path) const {
    return listed_tfrecord_files(files, {std::move(path)}, options, damage);
  }
  // A state of one file's records is none with another `on_damage`.
  std::vector<Parameter> parameters() const {
    if (damage.on_damage == OnDamage::raise) return {};
    return {{"on_damage", std::string(to_string(damage.on_damage))}};
  }
};

// `paths`: of record_paths().
PythonDataset tfrecords(const SharedFiles& files, const std::vector<FilePath>& paths,
                        bool check_crc, const std::string& compression,
                        const std::string& on_damage, size_t cycle_length, size_t block_length) {
  const RecordReadOptions options = read_options(check_crc, compression);
  const DamageOptions damage{.on_damage = on_damage_of(on_damage),
                             .remedy = "pass on_damage=\"skip_file\" or \"resync\" to go on"};
  if (cycle_length == 1) {
    return PythonDataset(listed_tfrecord_files(files.shared, strings(paths), options, damage));
  }
  const OpenRecords open{files.shared, options, damage};
  return PythonDataset(
      list_files(*files, strings(paths)).interleave(open, cycle_length, block_length));
}

PythonDataset integers(int64_t begin, int64_t end, int64_t step) {
  return PythonDataset(range(begin, end, step).map([](int64_t number) {
    const GilScope gil;
    return PythonObject(nb::int_(number));
  }));
}

// `paths`: of record_paths().
PythonDataset paths_of_files(const SharedFiles& files, const std::vector<FilePath>& paths) {
  return PythonDataset(
      list_files(*files, strings(paths)).map([shared = files.shared](const std::string& path) {
        const GilScope gil;
        return PythonObject(nb::cast(FilePath{path}));
      }));
}

// `contents`: a digest of the values, for the plan; or empty.
PythonDataset from_list(const nb::list& list, const std::string& contents) {
  std::vector<PythonObject> values;
  for (const nb::handle value : list) values.emplace_back(nb::borrow(value));
  std::vector<Parameter> parameters{{"elements", values.size()}};
  if (!contents.empty()) parameters.emplace_back("contents", contents);
  using Values = extension::Indexed<PythonObject, std::vector<PythonObject>>;
  return PythonDataset(extension::source<PythonObject>(extension::indexed(
      "from_list", std::move(parameters), std::make_shared<const Values>(std::move(values)),
      extension::element_ops<PythonObject>())));
}

[[noreturn]] void throw_python_exception() {
  nb::python_error error;
  throw_raised(error);
}

// The elements of iter(factory()).
class PythonGenerator {
 public:
  explicit PythonGenerator(nb::object iterator) : iterator_(shared(std::move(iterator))) {}
  std::optional<PythonObject> operator()() {
    const GilScope gil;
    nb::object value = nb::steal(PyIter_Next(iterator_->get().ptr()));
    if (value) return PythonObject(std::move(value));
    if (PyErr_Occurred()) throw_python_exception();
    return std::nullopt;
  }

 private:
  SharedObject iterator_;
};

// The factory of from_generator.
struct StartGenerator {
  PythonFunction factory;
  NewIterators iterators;

  PythonGenerator operator()() const {
    const GilScope gil;
    try {
      return PythonGenerator(iterators.of(factory.function->get()(), "from_generator"));
    } catch (nb::python_error& error) {
      throw_raised(error);
    }
  }
  std::vector<Parameter> parameters() const { return factory.parameters(); }
};

PythonDataset generator(PythonFunction factory) {
  return PythonDataset(from_generator(StartGenerator{std::move(factory), {}}));
}

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
      .def("__init__", [](PythonFunction* self, nb::object function, std::string name,
                          std::string code, std::vector<std::string> not_compared) {
        new (self) PythonFunction{shared(std::move(function)),
                                  {std::move(name), std::move(code), std::move(not_compared)}};
      });

  using Self = const PythonDataset&;
  nb::class_<PythonDataset>(module, "Dataset")
      .def("parse", [](Self self, std::shared_ptr<ParseSpec> spec) { return self.parse(spec); })
      .def("batch", &PythonDataset::batch)
      .def("map", &PythonDataset::map)
      .def("map_with_random", &PythonDataset::map_with_random)
      .def("flat_map", &PythonDataset::flat_map)
      .def("filter", &PythonDataset::filter)
      .def("interleave", &PythonDataset::interleave)
      .def("scan", &PythonDataset::scan, nb::arg().none(), nb::arg())
      .def("window",
           [](Self self, size_t size, std::optional<size_t> shift, bool drop_remainder,
              nb::object collect) {
             return self.window(size, shift, drop_remainder, shared(std::move(collect)));
           })
      .def("is_parsed",
           [](Self self) {
             return self.rows() && std::holds_alternative<Dataset<Record>>(self.elements()) &&
                    self.spec()->collator.tfds() == nullptr;
           })
      .def("bucket_features",
           [](Self self, const std::string& feature, std::vector<size_t> boundaries,
              std::vector<size_t> batch_sizes, bool drop_remainder, std::optional<size_t> most) {
             return self.bucket_by_sequence_length(
                 feature, {std::move(boundaries), std::move(batch_sizes), drop_remainder}, most);
           })
      .def("bucket",
           [](Self self, const PythonFunction& length, std::vector<size_t> boundaries,
              std::vector<size_t> batch_sizes, bool drop_remainder, std::optional<size_t> most,
              nb::object stack) {
             return self.bucket_by_sequence_length(
                 length, {std::move(boundaries), std::move(batch_sizes), drop_remainder}, most,
                 shared(std::move(stack)));
           })
      .def("pack_features",
           [](Self self, const std::vector<std::string>& features,
              const std::vector<size_t>& lengths, size_t open_rows, bool truncate) {
             return self.pack_sequences(features, lengths, packing(open_rows, truncate));
           })
      .def("pack",
           [](Self self, const PythonFunction& sizes, const std::vector<size_t>& lengths,
              size_t open_rows, bool truncate, nb::object pack) {
             return self.pack_sequences(sizes, lengths, packing(open_rows, truncate),
                                        shared(std::move(pack)));
           })
      .def("enumerate", &PythonDataset::enumerate)
      .def("with_origin", &PythonDataset::with_origin)
      .def("has_steps", &PythonDataset::has_steps)
      .def("rows", &PythonDataset::rows)
      .def("computed", &PythonDataset::computed)
      .def("cache",
           [](Self self, const std::optional<FilePath>& path, uint64_t max_bytes) {
             if (path) return self.cache(path->bytes);
             return self.reorder([&](const auto& d) { return d.cache({.max_bytes = max_bytes}); });
           })
      .def("shuffle",
           [](Self self, size_t buffer_size, uint64_t seed) {
             return self.reorder([&](const auto& d) { return d.shuffle(buffer_size, seed); });
           })
      .def("global_shuffle",
           [](Self self, uint64_t seed) {
             return self.reorder([&](const auto& d) { return d.global_shuffle(seed); });
           })
      .def("repeat",
           [](Self self, int64_t count) {
             return self.reorder([&](const auto& d) { return d.repeat(count); });
           })
      .def("take",
           [](Self self, uint64_t count) {
             return self.reorder([&](const auto& d) { return d.take(count); });
           })
      .def("skip",
           [](Self self, uint64_t count) {
             return self.reorder([&](const auto& d) { return d.skip(count); });
           })
      .def("shard",
           [](Self self, size_t num_shards, size_t index, bool drop_remainder) {
             const auto drop = drop_remainder ? DropRemainder::yes : DropRemainder::no;
             return self.reorder([&](const auto& d) { return d.shard(num_shards, index, drop); });
           })
      .def("prefetch",
           [](Self self, std::optional<size_t> size) {
             return self.reorder(
                 [&](const auto& d) { return d.prefetch(size.value_or(kAutotune)); });
           })
      .def("ignore_errors",
           [](Self self, uint64_t max_count, double max_rate) {
             return self.ignore_errors({.max_count = max_count, .max_rate = max_rate});
           })
      .def("with_options",
           [](Self self, size_t threads, size_t chunk_size, uint64_t memory_limit) {
             PipelineOptions options;
             options.threads = threads;
             options.chunk_size = chunk_size;
             options.memory_limit = memory_limit;
             return self.reorder([&](const auto& d) { return d.with_options(options); });
           })
      .def("epoch",
           [](Self self, uint64_t epoch) {
             return self.reorder([&](const auto& d) { return d.epoch(epoch); });
           })
      .def("concatenate", &PythonDataset::concatenate)
      .def("cardinality",
           [](Self self) {
             return interruptible([&](std::stop_token stop) {
               const internal::CallStopScope scope(std::move(stop));
               return self.visit([](const auto& d) { return d.cardinality(); });
             });
           })
      .def("plan_hash", &PythonDataset::plan_hash)
      .def("require_not_read", &require_not_read);

  nb::class_<WriteInProgress>(module, "WriteInProgress")
      .def(nb::init<SharedFiles, const std::vector<FilePath>&>())
      .def("__enter__", &WriteInProgress::enter)
      .def("__exit__", [](WriteInProgress& self, const nb::args&) { self.exit(); });

  module.def("record_paths", &record_paths);
  module.def("tfrecords", &tfrecords);
  module.def("from_list", &from_list);
  module.def("range", &integers);
  module.def("list_files", &paths_of_files);
  module.def("from_generator", &generator);
  module.def("have_same_elements", &PythonDataset::have_same_elements);
  module.def("sample", &PythonDataset::sample);
  module.def("choose", &PythonDataset::choose);
  module.def("zip", [](const std::vector<PythonDataset>& datasets, nb::object collect) {
    return PythonDataset::zip(datasets, shared(std::move(collect)));
  });
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
             new (self)
                 RecordFileWriter(files, path.bytes, {compression_of(compression), level}, index);
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
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &PythonIterator::next)
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
  define_image_operators(module);
  define_elements(module);
  define_steps(module);
  define_writer(module);
  define_iterator(module);
  define_schema(module);
  define_record_schema(module);
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
