// Steps and episodes of RLDS data sets: steps(), episode_statistics().
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/native/dataset/dataset.h"
#include "python/native/files/file_path.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/rlds/episode_statistics.h"
#include "recordpipe/rlds/load.h"

namespace recordpipe::python {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;
using Offsets = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// The rows of steps, of files that are open already.
PythonDataset dataset_of(const std::shared_ptr<const rlds::StepReader>& reader) {
  return PythonDataset(rlds::steps(reader),
                       std::make_shared<const ParseSpec>(step_spec(rlds::StepCollator(reader))));
}

// What Python passes of tfds(): the folder, the split and its rounding.
struct Source {
  FilePath folder;
  std::string split;
  std::string rounding;

  tfds::Rounding rounding_of_split() const {
    const bool closest = rounding == to_string(tfds::Rounding::closest);
    return closest ? tfds::Rounding::closest : tfds::Rounding::pct1_dropremainder;
  }
  // Of the split's files.
  uint64_t bytes() const {
    const tfds::Info info = tfds::read_info(tfds::find_folder(folder.bytes));
    std::set<std::string> paths;
    for (const auto& slice :
         rlds::slices_of(info, tfds::parse_split(split, info, rounding_of_split()))) {
      paths.insert(slice.path);
    }
    uint64_t bytes = 0;
    for (const std::string& path : paths) {
      const auto status = posix_file_system().status(path);
      bytes += status ? status->size : 0;  // opening it says what is missing
    }
    return bytes;
  }
  std::shared_ptr<const rlds::StepReader> open(const rlds::StepsOptions& options,
                                               const FileWork& work) const {
    return rlds::open_steps(folder.bytes, split, options,
                            {.stop = work.stop, .advance = work.advance}, rounding_of_split());
  }
};

PythonDataset steps(const FilePath& folder, const std::string& split, const std::string& rounding,
                    const Names& features, const Offsets& offsets, bool zero,
                    const nb::object& progress) {
  const rlds::StepsOptions options{
      .features = features, .offsets = offsets, .pad = zero ? rlds::Pad::zero : rlds::Pad::edge};
  const Source source{folder, split, rounding};
  std::shared_ptr<const rlds::StepReader> reader;
  run_file_work(files_of_this_machine(), progress, source.bytes(),
                [&](const FileWork& work) { reader = source.open(options, work); });
  return dataset_of(reader);
}

// (episodes, steps, [(name, shape, [(episode, path, offset, values left out)], left_out, mean, std,
// min, max, q01, q99)]).
nb::tuple statistics(const FilePath& folder, const std::string& split, const std::string& rounding,
                     const Names& features, size_t threads, bool keep, const nb::object& progress) {
  const Source source{folder, split, rounding};
  rlds::EpisodeStatistics found;
  run_file_work(files_of_this_machine(), progress, source.bytes(), [&](const FileWork& work) {
    const auto reader = source.open({.features = features}, work);
    found =
        rlds::episode_statistics(*reader, {.threads = threads, .stop = work.stop, .keep = keep});
  });
  nb::list list;
  for (const rlds::StepStatistics& each : found.features) {
    nb::list episodes;
    for (const rlds::LeftOutValues& one : each.episodes) {
      episodes.append(nb::make_tuple(one.episode, FilePath{one.path}, one.offset, one.values));
    }
    list.append(nb::make_tuple(each.name, each.shape, episodes, each.left_out, each.mean, each.std,
                               each.min, each.max, each.q01, each.q99));
  }
  return nb::make_tuple(found.episodes, found.steps, list);
}

}  // namespace

void define_steps(nb::module_& module) {
  module.def("steps", &steps, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
  module.def("episode_statistics", &statistics, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg().none());
}

}  // namespace recordpipe::python
