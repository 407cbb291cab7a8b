// The tree of features, from features.json.
#include "recordpipe/tfds/features.h"

#include <algorithm>

#include "dataset/tfds/feature_parser.h"
#include "dataset/tfds/trimmed.h"
#include "recordpipe/base/error.h"

namespace recordpipe::tfds {
namespace {

// The file of label names of a class label: "/" in a name is ".", and the names of the dicts around
// it are joined with "-".
std::string names_file(const std::string& folder, const std::string& name) {
  return folder + "/" + name + ".labels.txt";
}

void read_names(Feature& feature, FileSystem& file_system, const std::string& path) {
  if (!file_system.status(path)) return;
  const std::string text = read_text(file_system, path);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view name = trimmed(std::string_view(text).substr(begin, end - begin));
    if (!name.empty()) feature.names.emplace_back(name);
    begin = end + 1;
  }
  const auto count = static_cast<int64_t>(feature.names.size());
  if (feature.num_classes == 0) feature.num_classes = count;
  if (feature.num_classes != count) {
    throw Error({.kind = ErrorKind::corrupted,
                 .path = path,
                 .reason = std::to_string(count) + " names of labels, where features.json has " +
                           std::to_string(feature.num_classes) + " classes"});
  }
}

// `name`: of the file, "" for the root.
void read_all_names(Feature& feature, FileSystem& file_system, const std::string& folder,
                    const std::string& name) {
  if (feature.feature_class == FeatureClass::class_label ||
      feature.feature_class == FeatureClass::labeled_image) {
    read_names(feature, file_system, names_file(folder, name));
  }
  for (auto& [child_name, child] : feature.children) {
    std::string file = name;
    if (feature.feature_class == FeatureClass::dict) {
      std::string own = child_name;
      std::ranges::replace(own, '/', '.');
      file = name.empty() ? own : name + "-" + own;
    }
    read_all_names(child, file_system, folder, file);
  }
}

void add_leaves(const Feature& feature, Leaf leaf, std::vector<Leaf>& all) {
  if (feature.is_leaf()) {
    leaf.feature = &feature;
    all.push_back(std::move(leaf));
    return;
  }
  if (feature.feature_class == FeatureClass::dict) {
    for (const auto& [name, child] : feature.children) {
      Leaf inner = leaf;
      inner.path.push_back(name);
      inner.key += (inner.key.empty() ? "" : "/") + name;
      add_leaves(child, std::move(inner), all);
    }
    return;
  }
  if (leaf.lengths.empty()) leaf.in_dataset = feature.feature_class == FeatureClass::dataset;
  leaf.lengths.push_back(feature.length);
  add_leaves(feature.child(), std::move(leaf), all);
}

}  // namespace

std::string_view to_string(FeatureClass feature_class) {
  switch (feature_class) {
    case FeatureClass::dict:
      return "FeaturesDict";
    case FeatureClass::sequence:
      return "Sequence";
    case FeatureClass::dataset:
      return "Dataset";
    case FeatureClass::video:
      return "Video";
    case FeatureClass::tensor:
      return "Tensor";
    case FeatureClass::scalar:
      return "Scalar";
    case FeatureClass::text:
      return "Text";
    case FeatureClass::class_label:
      return "ClassLabel";
    case FeatureClass::bounding_box:
      return "BBoxFeature";
    case FeatureClass::audio:
      return "Audio";
    case FeatureClass::image:
      return "Image";
    case FeatureClass::labeled_image:
      return "LabeledImage";
  }
  return "";
}

std::string_view to_string(Encoding encoding) {
  return encoding == Encoding::bytes ? "bytes" : encoding == Encoding::zlib ? "zlib" : "none";
}

const Feature* Feature::find(std::string_view path) const {
  if (path.empty()) return this;
  if (is_leaf()) return nullptr;
  if (feature_class != FeatureClass::dict) return child().find(path);
  for (const auto& [name, feature] : children) {
    if (name == path) return &feature;
  }
  for (const auto& [name, feature] : children) {
    if (path.size() <= name.size() || !path.starts_with(name) || path[name.size()] != '/') continue;
    if (const Feature* found = feature.find(path.substr(name.size() + 1))) return found;
  }
  return nullptr;
}

bool Leaf::has_stored_shape() const {
  return !feature->is_image() && std::ranges::count(feature->shape, kUnknown) > 1;
}

std::vector<Leaf> leaves(const Feature& features) {
  std::vector<Leaf> all;
  add_leaves(features, {}, all);
  return all;
}

Feature parse_features(std::string_view json, const std::string& path) {
  Feature features = FeatureParser(path).parse(parse_json(json, path));
  if (features.feature_class != FeatureClass::dict) {
    throw Error({.kind = ErrorKind::unsupported,
                 .path = path,
                 .reason = "the outermost feature is not a FeaturesDict but a " +
                           std::string(to_string(features.feature_class))});
  }
  return features;
}

Feature read_features(const std::string& folder, FileSystem& file_system) {
  const std::string path = folder + "/features.json";
  Feature features = parse_features(read_text(file_system, path), path);
  read_all_names(features, file_system, folder, "");
  return features;
}

}  // namespace recordpipe::tfds
