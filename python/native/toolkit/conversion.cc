// convert().
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
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

// The options of convert() (recordpipe/_tools/conversion.py), which sets all of them.
struct ConvertArguments {
  std::optional<std::string> compression;
  std::optional<int> level;
  bool fast = false;
  size_t shards = 0;
  bool round_robin = false;
  std::vector<std::pair<std::string, double>> split;
  std::optional<std::string> split_by;
  uint64_t max_bytes = 0;
  bool shuffle = false;
  FilePath tmp_dir;
  std::optional<std::string> where;
  std::optional<double> sample;
  std::optional<uint64_t> sample_count;
  uint64_t seed = 0;
  std::optional<uint64_t> limit;
  std::optional<std::vector<std::string>> select;
  std::vector<std::string> drop;
  std::map<std::string, std::string> rename;
  std::optional<size_t> resize;
  int quality = 90;
  std::vector<std::string> images;
  bool no_clobber = false;
  bool is_part = false;  // RecordSelection::is_part
  size_t threads = 0;
};

RecordSelection selection_of(const ConvertArguments& arguments) {
  RecordSelection selection = {.fraction = arguments.sample,
                               .seed = arguments.seed,
                               .limit = arguments.limit,
                               .is_part = arguments.is_part,
                               .threads = arguments.threads};
  if (arguments.where) selection.where.emplace(*arguments.where);
  FeatureEdit& edit = selection.edit;
  if (arguments.resize) {
    edit = resize_images({.features = arguments.images,
                          .short_side = *arguments.resize,
                          .quality = arguments.quality});
  }
  if (arguments.select) edit.select.emplace(arguments.select->begin(), arguments.select->end());
  edit.drop = {arguments.drop.begin(), arguments.drop.end()};
  edit.rename = {arguments.rename.begin(), arguments.rename.end()};
  return selection;
}

RecordOutputOptions output_of(const std::string& target, const ConvertArguments& arguments) {
  std::optional<Compression> compression;
  if (arguments.compression) compression = compression_of(*arguments.compression);
  RecordOutputOptions options = {
      .path = target,
      .compression = compression_for(target, compression),
      .level = arguments.level,
      .fast = arguments.fast,
      .shards = arguments.shards,
      .order = arguments.round_robin ? ShardOrder::round_robin : ShardOrder::blocks,
      .max_bytes = arguments.max_bytes,
      .threads = arguments.threads};
  check_level(options);
  return options;
}

// The name of the compression of a file to be written; throws for the name of another format.
std::string output_compression(const FilePath& path, const std::optional<std::string>& given) {
  require_name_of_records(path.bytes);
  return given ? *given : std::string(to_string(compression_for(path.bytes, {})));
}

RecordSplit split_of(const ConvertArguments& arguments) {
  RecordSplit split = {.key = arguments.split_by};
  for (const auto& [name, fraction] : arguments.split) {
    split.parts.push_back({.name = name, .fraction = fraction});
  }
  return split;
}

ConvertOptions options_of(const SharedFiles& files, const Inputs& inputs, const FilePath& target,
                          const Reading& reading, const ConvertArguments& arguments) {
  ConvertOptions options = {.input = {.paths = inputs.paths,
                                      .reading = read_options(reading),
                                      .on_damage = on_damage_of(reading)},
                            .output = output_of(target.bytes, arguments),
                            .split = split_of(arguments),
                            .selection = selection_of(arguments),
                            .sample_count = arguments.sample_count,
                            .shuffle = arguments.shuffle,
                            .temporary_directory = arguments.tmp_dir.bytes};
  options.selection.edit.kind = kind_of(reading);
  options.output.splits = names_of(options.split);
  if (options.input.on_damage != OnDamage::raise && arguments.resize) {
    options.selection.on_failed_edit = [](const Error&) {};
  }
  check_conversion(options);
  if (arguments.no_clobber) require_absent(*files, replaced_files(*files, options.output));
  if (!options.may_replace_input()) {
    require_no_input(files, inputs.paths, replaced_files(*files, options.output));
  }
  return options;
}

// The regions that were skipped; the first of them also one by one.
struct Skipped {
  static constexpr size_t kMaxRegions = 10'000;

  uint64_t regions = 0;
  uint64_t bytes = 0;
  uint64_t compressed_bytes = 0;
  std::vector<std::pair<std::string, DamagedRegion>> first;

  void add(const std::string& path, const DamagedRegion& region) {
    ++regions;
    bytes += region.size();
    compressed_bytes += region.compressed_lost;
    if (first.size() < kMaxRegions) first.emplace_back(path, region);
  }
};

// The records whose image can't be resized; the first of them also one by one.
struct SkippedRecords {
  uint64_t records = 0;
  std::vector<Error> first;

  void add(const Error& error) {
    ++records;
    if (first.size() < Skipped::kMaxRegions) first.push_back(error);
  }
};

// Returns (files: [(path, records, bytes, split)], records read, regions skipped, bytes skipped,
// the first of the regions: [(path, begin, end, reason, hint)], records skipped, the first of
// these: [(path, offset, reason)], compressed bytes skipped, FileFeatures as bytes).
nb::tuple convert(const SharedFiles& files, const std::vector<FilePath>& given,
                  const FilePath& target, const Reading& reading, const ConvertArguments& arguments,
                  const nb::object& progress) {
  Skipped skipped;
  SkippedRecords broken;
  const Inputs inputs = find_inputs(files, given);
  ConvertOptions options = options_of(files, inputs, target, reading, arguments);
  options.input.damaged = [&](const std::string& path, const DamagedRegion& region) {
    skipped.add(path, region);
  };
  if (options.selection.on_failed_edit) {
    options.selection.on_failed_edit = [&](const Error& error) { broken.add(error); };
  }
  ConvertReport report;
  run_file_work(files, progress, inputs.bytes * (options.needs_count() ? 2 : 1),
                [&](const FileWork& work) { report = convert_records(work, std::move(options)); });
  nb::list written;
  for (const WrittenFile& file : report.files) {
    written.append(nb::make_tuple(FilePath{file.path}, file.records, file.bytes, file.split));
  }
  nb::list regions;
  for (const auto& [path, region] : skipped.first) {
    regions.append(nb::make_tuple(FilePath{path}, region.begin, region.end, text(region.reason),
                                  text(region.hint)));
  }
  nb::list records;
  for (const Error& error : broken.first) {
    records.append(nb::make_tuple(FilePath{error.path()}, error.offset(), text(error.reason())));
  }
  return nb::make_tuple(written, report.read, skipped.regions, skipped.bytes, regions,
                        broken.records, records, skipped.compressed_bytes,
                        bytes_of(to_bytes(std::move(report.features))));
}

// Raises or warns if the files of a job (`are_all`: all of its files) lack features that
// `arguments` name.
void require_found_in_any(const ConvertArguments& arguments, const std::vector<nb::bytes>& files,
                          bool are_all) {
  JobFeatures features(selection_of(arguments));
  for (const nb::bytes& file : files) features.add(file_features(view(file)));
  warn(features.require_found_in_any(are_all));
}

// Returns (inputs, bytes, records, inputs that are read twice, outputs).
nb::tuple plan_convert(const SharedFiles& files, const std::vector<FilePath>& given,
                       const FilePath& target, const Reading& reading,
                       const ConvertArguments& arguments, const nb::object& progress) {
  const Inputs inputs = find_inputs(files, given);
  const ConvertOptions options = options_of(files, inputs, target, reading, arguments);
  ConvertPlan plan;
  run_file_work(files, progress, inputs.bytes,
                [&](const FileWork& work) { plan = plan_conversion(work, options); });
  nb::list twice;
  for (const std::string& path : plan.read_twice) twice.append(FilePath{path});
  nb::list outputs;
  for (const std::string& path : plan.outputs) outputs.append(FilePath{path});
  return nb::make_tuple(plan.inputs, plan.bytes, plan.records, twice, outputs);
}

}  // namespace

void define_conversion(nb::module_& module) {
  nb::class_<ConvertArguments>(module, "ConvertArguments")
      .def(nb::init<>())
      .def_rw("compression", &ConvertArguments::compression, nb::arg().none())
      .def_rw("level", &ConvertArguments::level, nb::arg().none())
      .def_rw("fast", &ConvertArguments::fast)
      .def_rw("shards", &ConvertArguments::shards)
      .def_rw("round_robin", &ConvertArguments::round_robin)
      .def_rw("split", &ConvertArguments::split)
      .def_rw("split_by", &ConvertArguments::split_by, nb::arg().none())
      .def_rw("max_bytes", &ConvertArguments::max_bytes)
      .def_rw("shuffle", &ConvertArguments::shuffle)
      .def_rw("tmp_dir", &ConvertArguments::tmp_dir)
      .def_rw("where", &ConvertArguments::where, nb::arg().none())
      .def_rw("sample", &ConvertArguments::sample, nb::arg().none())
      .def_rw("sample_count", &ConvertArguments::sample_count, nb::arg().none())
      .def_rw("seed", &ConvertArguments::seed)
      .def_rw("limit", &ConvertArguments::limit, nb::arg().none())
      .def_rw("select", &ConvertArguments::select, nb::arg().none())
      .def_rw("drop", &ConvertArguments::drop)
      .def_rw("rename", &ConvertArguments::rename)
      .def_rw("resize", &ConvertArguments::resize, nb::arg().none())
      .def_rw("quality", &ConvertArguments::quality)
      .def_rw("images", &ConvertArguments::images)
      .def_rw("no_clobber", &ConvertArguments::no_clobber)
      .def_rw("is_part", &ConvertArguments::is_part)
      .def_rw("threads", &ConvertArguments::threads);
  module.def("require_found_in_any", &require_found_in_any);
  module.def("require_absent", [](const SharedFiles& files, const std::vector<FilePath>& outputs) {
    require_absent(*files, strings(outputs));
  });
  module.def("output_compression", &output_compression, nb::arg(), nb::arg().none());
  module.def("convert", &convert, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
  module.def("plan_convert", &plan_convert, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
}

}  // namespace recordpipe::python
