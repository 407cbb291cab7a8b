// The features of a data set that TensorFlow Datasets wrote: features.json.
//
//     const Feature features = read_features("data/robot_a/1.0.0");
//     for (const Leaf& leaf : leaves(features)) use(leaf.key, leaf.feature->dtype);
//
// The file is a tree: dicts of features, sequences of a feature, and leaves (tensors, text, images,
// ...). Both spellings are read: the current one ("pythonClassName", "featuresDict", ...) and the
// legacy one ("type", "content").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/example/tensor_proto.h"
#include "recordpipe/io/file.h"

namespace recordpipe::tfds {

// The classes of tfds.features.
enum class FeatureClass {
  dict,      // FeaturesDict, Translation
  sequence,  // Sequence, TranslationVariableLanguages: `child` stacked
  dataset,   // Dataset: stacked like a sequence; the steps of an episode
  video,     // Video: a sequence of images
  tensor,    // Tensor
  scalar,
  text,
  class_label,
  bounding_box,
  audio,
  image,
  labeled_image,
};
std::string_view to_string(FeatureClass feature_class);  // "FeaturesDict", "Sequence", ...

enum class Encoding { none, bytes, zlib };
std::string_view to_string(Encoding encoding);

inline constexpr int64_t kUnknown = -1;  // a dimension that differs between examples

struct Feature {
  FeatureClass feature_class = FeatureClass::dict;
  std::string description = {};

  // Of leaves. No dtype: byte strings.
  std::optional<TensorType> dtype = {};
  std::vector<int64_t> shape = {};  // kUnknown for unknown dimensions
  Encoding encoding = Encoding::none;
  bool is_optional = false;             // may be missing in an Example
  std::string encoding_format = {};     // of images: "png", "jpeg" or ""
  std::string bbox_format = {};         // of bounding boxes: "REL_YXYX", ... or ""
  int64_t sample_rate = 0;              // of audio: in Hz; 0: unknown
  int64_t num_classes = 0;              // of labels; 0: unknown
  std::vector<std::string> names = {};  // of labels, from the file beside; {}: unknown

  // Of sequences, datasets and videos.
  int64_t length = kUnknown;

  // A dict's features with their names, in the file's order; the only one of sequences, datasets
  // and videos, with the name "".
  std::vector<std::pair<std::string, Feature>> children = {};

  const Feature& child() const { return children.front().second; }
  bool is_leaf() const { return feature_class >= FeatureClass::tensor; }
  bool is_image() const { return feature_class >= FeatureClass::image; }
  // The feature at a path of names joined with "/", through sequences and datasets; null if there
  // is none.
  const Feature* find(std::string_view path) const;
};

// A leaf of the tree.
struct Leaf {
  const Feature* feature;         // valid as long as the tree
  std::vector<std::string> path;  // the names of the dicts around it, outermost first
  std::string key;                // of the Example: the names joined with "/"
  // The lengths of the sequences, datasets and videos around it, outermost first; kUnknown for
  // unknown ones. Two or more: the Example holds KEY/ragged_flat_values and
  // KEY/ragged_row_lengths_0, ...
  std::vector<int64_t> lengths;
  // Whether the outermost of these is a Dataset.
  bool in_dataset = false;

  // Several unknown dimensions: the Example holds KEY/shape and KEY/value.
  bool has_stored_shape() const;
  // Whether the Example holds one byte string for each value: images, and other encodings than
  // none.
  bool is_encoded() const { return feature->is_image() || feature->encoding != Encoding::none; }
};

// All leaves, in the order of the tree.
std::vector<Leaf> leaves(const Feature& features);

// Reads FOLDER/features.json and the files of label names beside it. Throws Error, with the file's
// path:
//   not_found       there is no such file
//   corrupted       not JSON, or not such a tree: an unknown dtype, a shape with dimensions below
//                   -1, ...
//   unsupported     a feature class or a property that can't be read, by the feature's path: audio
//                   with lazy_decode, text with an encoder, classes that are not in tfds.features
//   limit_exceeded  a file of more than 64 MiB, or a tree of more than 64 levels or 100,000
//                   features
Feature read_features(const std::string& folder, FileSystem& file_system = posix_file_system());
// The same, from the text of a features.json; `path` is for messages. Without names of labels.
Feature parse_features(std::string_view json, const std::string& path = "features.json");

}  // namespace recordpipe::tfds
