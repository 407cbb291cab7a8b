// tfds() and tfds_info(): data sets of TensorFlow Datasets.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/native/dataset/dataset.h"
#include "python/native/dataset/record_files.h"
#include "python/native/files/file_path.h"
#include "python/native/interpreter/gil.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/tfds/batch.h"
#include "recordpipe/tfds/load.h"

namespace recordpipe::python {
namespace {

// (class name, description, dtype or None, shape, encoding, optional, encoding format, length or
// None, number of classes, names, sample rate, children: [(name, feature)]). Unknown dimensions are
// None.
nb::tuple feature_to_python(const tfds::Feature& feature) {
  const auto dimension = [](int64_t length) -> nb::object {
    return length == tfds::kUnknown ? nb::none() : nb::object(nb::int_(length));
  };
  const auto list_of = [](const std::vector<std::string>& texts) {
    nb::list list;
    for (const std::string& each : texts) list.append(text(each));
    return list;
  };
  nb::list shape;
  for (const int64_t each : feature.shape) shape.append(dimension(each));
  nb::list children;
  for (const auto& [name, child] : feature.children) {
    children.append(nb::make_tuple(text(name), feature_to_python(child)));
  }
  const std::string_view encoding =
      feature.encoding == tfds::Encoding::none ? "" : to_string(feature.encoding);
  return nb::make_tuple(text(to_string(feature.feature_class)), text(feature.description),
                        feature.dtype ? nb::object(text(to_string(*feature.dtype))) : nb::none(),
                        shape, text(encoding), feature.is_optional, text(feature.encoding_format),
                        dimension(feature.length), feature.num_classes, list_of(feature.names),
                        feature.sample_rate, children);
}

// (folder, name, config, version, description, splits: [(name, shard lengths, files, bytes)],
// features).
nb::tuple folder_info(const FilePath& folder) {
  tfds::Info info;
  tfds::Feature features;
  {
    const GilRelease no_gil;
    const std::string found = tfds::find_folder(folder.bytes);
    info = tfds::read_info(found);
    features = tfds::read_features(found);
  }
  nb::list splits;
  for (const tfds::Split& split : info.splits) {
    splits.append(nb::make_tuple(text(split.name), split.shard_lengths, file_paths(split.files),
                                 split.bytes));
  }
  return nb::make_tuple(FilePath{info.folder}, text(info.name), text(info.config),
                        text(info.version), text(info.description), splits,
                        feature_to_python(features));
}

tfds::Rounding rounding_of(const std::string& name) {
  return name == to_string(tfds::Rounding::closest) ? tfds::Rounding::closest
                                                    : tfds::Rounding::pct1_dropremainder;
}

std::vector<tfds::ExampleRange> ranges_of(const tfds::Info& info, const std::string& split,
                                          const std::string& rounding) {
  return tfds::parse_split(split, info, rounding_of(rounding));
}

// (the Dataset, [(file, first, end, number of records)]).
std::pair<PythonDataset, nb::list> open(const FilePath& folder, const std::string& split,
                                        bool decode_images, std::vector<std::string> except,
                                        bool fill_missing, bool fast_dct, uint64_t max_pixels,
                                        const std::string& rounding, bool check_crc) {
  std::unique_ptr<PythonDataset> dataset;
  std::vector<tfds::FileRange> files;
  {
    const GilRelease no_gil;
    const std::string found = tfds::find_folder(folder.bytes);
    const tfds::Info info = tfds::read_info(found);
    const tfds::ExampleOptions options{
        .decode_images = decode_images,
        .except = std::move(except),
        .missing = fill_missing ? tfds::MissingValues::fill : tfds::MissingValues::mask,
        .dct = fast_dct ? Dct::fast : Dct::accurate,
        .max_pixels = max_pixels};
    auto spec = std::make_shared<const ParseSpec>(
        tfds_spec(tfds::ExamplesCollator(tfds::read_features(found), options)));
    const auto ranges = ranges_of(info, split, rounding);
    files = tfds::file_ranges(ranges, info);
    dataset = std::make_unique<PythonDataset>(
        tfds::records(info, ranges, read_options(check_crc, "")), std::move(spec));
  }
  nb::list parts;
  for (const tfds::FileRange& file : files) {
    parts.append(nb::make_tuple(FilePath{file.path}, file.begin, file.end, file.records));
  }
  return {std::move(*dataset), parts};
}

}  // namespace

void define_tfds(nb::module_& module) {
  module.def("tfds_info", &folder_info);
  module.def("tfds_open", &open);
  module.def("tfds_ranges",
             [](const FilePath& folder, const std::string& split, const std::string& rounding) {
               nb::list ranges;
               for (const tfds::ExampleRange& range :
                    ranges_of(tfds::read_info(tfds::find_folder(folder.bytes)), split, rounding)) {
                 ranges.append(nb::make_tuple(text(range.split), range.begin, range.end));
               }
               return ranges;
             });
}

}  // namespace recordpipe::python
