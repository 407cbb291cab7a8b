// Steps and episodes of RLDS data sets: chosen_episodes(), steps(), episode_statistics().
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/native/dataset/dataset.h"
#include "python/native/files/file_path.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/rlds/episode_statistics.h"
#include "recordpipe/rlds/load.h"
#include "recordpipe/toolkit/where.h"

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
  // Notes where new indexes are.
  std::shared_ptr<const rlds::StepReader> open(const rlds::StepsOptions& options,
                                               const FileWork& work) const {
    std::vector<std::string> kept;
    const rlds::StepIndexOptions index{
        .stop = work.stop, .advance = work.advance, .kept = [&](const std::string& path) {
          kept.push_back(path);
        }};
    auto reader = rlds::open_steps(folder.bytes, split, options, index, rounding_of_split());
    if (!kept.empty()) {
      const std::string others =
          kept.size() > 1 ? " and " + std::to_string(kept.size() - 1) + " more" : "";
      work.note("the files were read once to find their steps, which are kept in " + kept[0] +
                others);
    }
    return reader;
  }
};

std::shared_ptr<const rlds::StepReader> opened_reader(const Source& source,
                                                      const rlds::StepsOptions& options,
                                                      const nb::object& progress) {
  std::shared_ptr<const rlds::StepReader> reader;
  run_file_work(files_of_this_machine(), progress, source.bytes(),
                [&](const FileWork& work) { reader = source.open(options, work); });
  return reader;
}

PythonDataset steps(const FilePath& folder, const std::string& split, const std::string& rounding,
                    const Names& features, const Offsets& offsets, bool zero,
                    const std::optional<std::vector<uint64_t>>& episodes,
                    const nb::object& progress) {
  const rlds::StepsOptions options{
      .features = features, .offsets = offsets, .pad = zero ? rlds::Pad::zero : rlds::Pad::edge};
  const auto reader = opened_reader({folder, split, rounding}, options, progress);
  return dataset_of(episodes ? reader->chosen(*episodes) : reader);
}

// The values of a feature: a number or bytes, or a list of them if there are others than one.
nb::object values_of(const FeatureView& feature) {
  nb::list values;
  for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
    values.append(nb::bytes(value.data(), value.size()));
  });
  for_each_value<FeatureKind::floats>(feature, [&](float value) { values.append(value); });
  for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) { values.append(value); });
  if (values.size() != 1) return values;
  return values[0];
}

// {"episode_metadata": {"success": 1}, "steps": 83}.
nb::dict dict_of(const MessageView& episode) {
  nb::dict values;
  for (const auto& [name, feature] : episode.features()) {
    nb::dict parent = values;
    std::string_view left = name;
    for (size_t end = left.find('/'); end != left.npos; end = left.find('/')) {
      const nb::str key(left.data(), end);
      if (!parent.contains(key)) parent[key] = nb::dict();
      parent = nb::cast<nb::dict>(parent[key]);
      left.remove_prefix(end + 1);
    }
    parent[nb::str(left.data(), left.size())] = values_of(feature);
  }
  return values;
}

// The numbers of the episodes, of `among` or of all, that have at least `min_length` steps, are
// selected by `where`, and for which `predicate` is true.
std::vector<uint64_t> chosen_episodes(const FilePath& folder, const std::string& split,
                                      const std::string& rounding,
                                      std::optional<std::vector<uint64_t>> among,
                                      uint64_t min_length, const std::optional<std::string>& where,
                                      const nb::object& predicate, const nb::object& progress) {
  std::optional<Where> selection;
  if (where) selection.emplace(*where, "where");
  const auto reader = opened_reader({folder, split, rounding}, {}, progress);
  if (!among) {
    among.emplace(reader->files().episodes());
    std::iota(among->begin(), among->end(), uint64_t{0});
  }
  MessageView view(MessageKind::example);
  std::vector<uint64_t> chosen;
  for (const uint64_t number : *among) {
    if (reader->files().episode(number).steps < min_length) continue;
    if (selection || !predicate.is_none()) {
      const std::string episode = reader->episode(number);
      view.read(std::as_bytes(std::span(episode)));
      if (selection && !selection->matches(view)) continue;
      if (!predicate.is_none() && !nb::cast<bool>(nb::bool_(predicate(dict_of(view))))) continue;
    }
    chosen.push_back(number);
  }
  if (selection) warn(selection->require_possible(true));
  return chosen;
}

// (episodes, steps, [(name, shape, [(episode, path, offset, values left out)], left_out, mean, std,
// min, max, q01, q99)]).
nb::tuple statistics(const FilePath& folder, const std::string& split, const std::string& rounding,
                     const Names& features, size_t threads, bool keep, const nb::object& progress) {
  const Source source{folder, split, rounding};
  rlds::EpisodeStatistics found;
  run_file_work(files_of_this_machine(), progress, source.bytes(), [&](const FileWork& work) {
    const auto reader = source.open({.features = features}, work);
    const auto kept = [&](const std::string& path) {
      work.note("the statistics are kept in " + path);
    };
    found = rlds::episode_statistics(
        *reader, {.threads = threads, .stop = work.stop, .keep = keep, .kept = kept});
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
  module.def("chosen_episodes", &chosen_episodes, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
             nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none());
  module.def("steps", &steps, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none(), nb::arg().none());
  module.def("episode_statistics", &statistics, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg().none());
}

}  // namespace recordpipe::python
