// Sources of Datasets: files, numbers, lists.
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/native/dataset/dataset.h"
#include "python/native/files/file_path.h"
#include "python/native/files/python_file_system.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/pipeline/extension.h"
#include "recordpipe/pipeline/list_files.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/input_files.h"

namespace recordpipe::python {
namespace {

// The files that folders, patterns, braces and sets of shards stand for. Those on this machine that
// are named must be there.
std::vector<FilePath> record_paths(const SharedFiles& files, const std::vector<FilePath>& paths,
                                   bool recursive) {
  const FilesAndFolders found = interruptible([&](std::stop_token stop) {
    const internal::CallStopScope scope(std::move(stop));
    const std::vector<std::string> names = strings(paths);
    FilesAndFolders all = find_files_and_folders(*files, names, {.recursive = recursive});
    const std::set<std::string_view> named(names.begin(), names.end());  // others were found
    for (const std::string& file : all.files) {
      if (named.contains(file)) require_local(*files, file);
    }
    return all;
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
  const DamageOptions damage{.on_damage = on_damage_of(on_damage), .remedy = kOnDamageRemedy};
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

}  // namespace

void define_sources(nb::module_& module) {
  module.def("record_paths", &record_paths);
  module.def("tfrecords", &tfrecords);
  module.def("from_list", &from_list);
  module.def("range", &integers);
  module.def("list_files", &paths_of_files);
}

}  // namespace recordpipe::python
