// convert().
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/toolkit/files/file_identity.h"
#include "dataset/toolkit/files/format_names.h"
#include "dataset/toolkit/jobs/convert_plan.h"
#include "dataset/toolkit/jobs/convert_records.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "python/native/values/python_object.h"
#include "recordpipe/toolkit/resize_images.h"

namespace recordpipe::python {
namespace {

// The name of the compression of a file to be written; throws for the name of another format.
std::string output_compression(const FilePath& path, const std::optional<std::string>& given) {
  require_name_of_records(path.bytes);
  return given ? *given : std::string(to_string(compression_for(path.bytes, {})));
}

// Completes the options that Python has set.
void complete(ConvertOptions& options, const SharedFiles& files, const Inputs& inputs,
              const FilePath& target, const Reading& reading, bool no_clobber) {
  options.input = input_reading(reading);
  options.input.paths = inputs.paths;
  options.output.path = target.bytes;
  options.output.threads = options.selection.threads;
  options.selection.edit.kind = kind_of(reading);
  if (options.input.on_damage != OnDamage::raise && options.selection.edit.replace) {
    options.selection.on_failed_edit = [](const Error&) {};
  }
  check_level(options.output);
  check_conversion(options);
  if (no_clobber) require_absent(*files, replaced_files(*files, options.output));
  if (!options.may_replace_input()) {
    require_no_input(files, inputs.paths, replaced_files(*files, options.output));
  }
}

constexpr size_t kMaxBroken = 10'000;  // one by one

// Returns (files: [(path, records, bytes, split)], records read, regions skipped, bytes skipped,
// the first of the regions: [(path, begin, end, reason, hint)], records skipped, the first of
// these: [(path, offset, reason)], compressed bytes skipped, FileFeatures as bytes).
nb::tuple convert(const SharedFiles& files, const std::vector<FilePath>& given,
                  const FilePath& target, const Reading& reading, ConvertOptions& options,
                  bool no_clobber, const nb::object& progress) {
  SkippedRegions skipped;
  uint64_t broken = 0;
  std::vector<Error> first_broken;
  const Inputs inputs = find_inputs(files, given);
  complete(options, files, inputs, target, reading, no_clobber);
  options.input.damaged = skipped.sink();
  if (options.selection.on_failed_edit) {
    options.selection.on_failed_edit = [&](const Error& error) {
      ++broken;
      if (first_broken.size() < kMaxBroken) first_broken.push_back(error);
    };
  }
  ConvertReport report;
  run_file_work(files, progress, inputs.bytes * (options.needs_count() ? 2 : 1),
                [&](const FileWork& work) { report = convert_records(work, std::move(options)); });
  nb::list written;
  for (const WrittenFile& file : report.files) {
    written.append(nb::make_tuple(FilePath{file.path}, file.records, file.bytes, file.split));
  }
  nb::list records;
  for (const Error& error : first_broken) {
    records.append(nb::make_tuple(FilePath{error.path()}, error.offset(), text(error.reason())));
  }
  const DamageSkipped& counts = skipped.counts();
  return nb::make_tuple(written, report.read, counts.regions, counts.bytes, skipped.to_python(),
                        broken, records, counts.compressed_bytes,
                        bytes_of(to_bytes(std::move(report.features))));
}

// Raises or warns if the files of a job (`are_all`: all of its files) lack features that
// `options` name.
void require_found_in_any(const ConvertOptions& options, const std::vector<nb::bytes>& files,
                          bool are_all) {
  JobFeatures features(options.selection);
  for (const nb::bytes& file : files) features.add(file_features(view(file)));
  warn(features.require_found_in_any(are_all));
}

// Returns (inputs, bytes, records, inputs that are read twice, outputs).
nb::tuple plan_convert(const SharedFiles& files, const std::vector<FilePath>& given,
                       const FilePath& target, const Reading& reading, ConvertOptions& options,
                       bool no_clobber, const nb::object& progress) {
  const Inputs inputs = find_inputs(files, given);
  complete(options, files, inputs, target, reading, no_clobber);
  ConvertPlan plan;
  run_file_work(files, progress, inputs.bytes,
                [&](const FileWork& work) { plan = plan_conversion(work, options); });
  nb::list twice;
  for (const std::string& path : plan.read_twice) twice.append(FilePath{path});
  nb::list outputs;
  for (const std::string& path : plan.outputs) outputs.append(FilePath{path});
  return nb::make_tuple(plan.inputs, plan.bytes, plan.records, twice, outputs);
}

using Options = nb::class_<ConvertOptions>;
using Self = ConvertOptions&;

// A property; `path` are members of members.
template <typename... Path>
void define_option(Options& options, const char* name, Path... path) {
  using Value = std::remove_reference_t<decltype((std::declval<Self>().*....*path))>;
  const auto get = [path...](Self self) -> Value { return (self.*....*path); };
  const auto set = [path...](Self self, Value value) { (self.*....*path) = std::move(value); };
  options.def_prop_rw(name, get, set, nb::for_setter(nb::arg().none()));
}

// The options that convert() (recordpipe/_tools/record_conversion.py) sets.
void define_options(nb::module_& module) {
  Options options(module, "ConvertOptions");
  options.def(nb::init<>());
  constexpr auto kOutput = &ConvertOptions::output;
  constexpr auto kSelection = &ConvertOptions::selection;
  constexpr auto kEdit = &RecordSelection::edit;
  define_option(options, "level", kOutput, &RecordOutputOptions::level);
  define_option(options, "fast", kOutput, &RecordOutputOptions::fast);
  define_option(options, "shards", kOutput, &RecordOutputOptions::shards);
  define_option(options, "max_bytes", kOutput, &RecordOutputOptions::max_bytes);
  define_option(options, "split_by", kOutput, &RecordOutputOptions::split, &RecordSplit::key);
  define_option(options, "shuffle", &ConvertOptions::shuffle);
  define_option(options, "sample", kSelection, &RecordSelection::fraction);
  define_option(options, "sample_count", &ConvertOptions::sample_count);
  define_option(options, "seed", kSelection, &RecordSelection::seed);
  define_option(options, "limit", kSelection, &RecordSelection::limit);
  define_option(options, "select", kSelection, kEdit, &FeatureEdit::select);
  define_option(options, "drop", kSelection, kEdit, &FeatureEdit::drop);
  define_option(options, "rename", kSelection, kEdit, &FeatureEdit::rename);
  define_option(options, "is_part", kSelection, &RecordSelection::is_part);
  define_option(options, "threads", kSelection, &RecordSelection::threads);
  options.def("set_compression", [](Self self, const std::string& name) {
    self.output.compression = compression_named(name);
  });
  options.def("set_tmp_dir", [](Self self, FilePath directory) {
    self.temporary_directory = std::move(directory.bytes);
  });
  options.def("set_round_robin", [](Self self) { self.output.order = ShardOrder::round_robin; });
  options.def("add_split", [](Self self, const std::string& name, double fraction) {
    self.output.split.parts.push_back({name, fraction});
  });
  options.def("set_where",
              [](Self self, const std::string& where) { self.selection.where.emplace(where); });
  options.def("resize_images",
              [](Self self, size_t side, int quality, const std::vector<std::string>& features) {
                FeatureEdit edit =
                    resize_images({.features = features, .short_side = side, .quality = quality});
                self.selection.edit.replace = std::move(edit.replace);
                self.selection.edit.replaced = std::move(edit.replaced);
              });
}

}  // namespace

void define_conversion(nb::module_& module) {
  define_options(module);
  module.def("require_found_in_any", &require_found_in_any);
  module.def("require_absent", [](const SharedFiles& files, const std::vector<FilePath>& outputs) {
    require_absent(*files, strings(outputs));
  });
  module.def("require_no_input", [](const SharedFiles& files, const std::vector<FilePath>& inputs,
                                    const std::vector<FilePath>& outputs) {
    require_no_input(files, strings(inputs), strings(outputs));
  });
  // The files that an output of convert() would replace.
  module.def("replaced_files",
             [](const SharedFiles& files, FilePath target, ConvertOptions& options) {
               options.output.path = std::move(target.bytes);
               return file_paths(replaced_files(*files, options.output));
             });
  module.def("output_compression", &output_compression, nb::arg(), nb::arg().none());
  module.def("convert", &convert, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
  module.def("plan_convert", &plan_convert, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg().none());
}

}  // namespace recordpipe::python
