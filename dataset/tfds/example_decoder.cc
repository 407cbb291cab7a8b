// Examples to Dicts.
#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "dataset/base/names_in_words.h"
#include "dataset/tfds/leaf_decoder.h"
#include "recordpipe/base/error.h"
#include "recordpipe/tfds/decode.h"

namespace recordpipe::tfds {
namespace {

// Of the Dict: nested names, and leaves.
struct Node {
  std::string name;
  std::vector<Node> children = {};
  size_t leaf = 0;  // without children
  bool is_dict = false;
  // The leaves of a Dataset below this name have one number of steps.
  bool is_dataset = false;
};

// `next_leaf` counts the leaves in the order of leaves().
Node node_of(const std::string& name, const Feature& feature, size_t& next_leaf) {
  const Feature* inner = &feature;
  bool is_dataset = false;
  while (!inner->is_leaf() && inner->feature_class != FeatureClass::dict) {
    is_dataset = is_dataset || inner->feature_class == FeatureClass::dataset;
    inner = &inner->child();
  }
  Node node{.name = name, .is_dataset = is_dataset};
  if (inner->is_leaf()) {
    node.leaf = next_leaf++;
    return node;
  }
  node.is_dict = true;
  for (const auto& [child_name, child] : inner->children) {
    node.children.push_back(node_of(child_name, child, next_leaf));
  }
  return node;
}

// Datasets in sequences and in other Datasets: TFDS can't read them.
void check_datasets(const Feature& feature, const std::string& path, bool in_sequence) {
  if (in_sequence && feature.feature_class == FeatureClass::dataset) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "feature \"" + printable(path) + "\": a Dataset inside of a sequence"});
  }
  const bool is_sequence = !feature.is_leaf() && feature.feature_class != FeatureClass::dict;
  for (const auto& [name, child] : feature.children) {
    const std::string inner = path.empty() || name.empty() ? path + name : path + "/" + name;
    check_datasets(child, inner, in_sequence || is_sequence);
  }
}

// The mask of an optional feature must not have the name of another feature.
void check_masks(const Feature& feature) {
  for (const auto& [name, child] : feature.children) {
    check_masks(child);
    if (!child.is_optional || !feature.find(name + "_mask")) continue;
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "the mask of the optional feature \"" + printable(name) +
                           "\" has the name of another feature",
                 .hint = "fill missing values (missing=\"fill\"; in C++, MissingValues::fill)"});
  }
}

// The number of steps of a value of a Dataset.
size_t steps_of(const DictValue& value) {
  if (const auto* array = value.get_if<Array>()) return array->shape.front();
  if (const auto* strings = value.get_if<BytesArray>()) return strings->shape.front();
  if (const auto* ragged = value.get_if<RaggedArray>()) return ragged->size();
  return value.list().size();
}

void describe(const Feature& feature, std::string& text) {
  text += to_string(feature.feature_class);
  text += feature.is_leaf() && !feature.dtype ? "" : "(";
  if (feature.is_leaf()) {
    if (!feature.dtype && feature.shape.empty()) return;
    if (!feature.dtype) text += "(";
    text += feature.dtype ? to_string(*feature.dtype) : "bytes";
    for (const int64_t dimension : feature.shape) {
      text += dimension == kUnknown ? " ?" : " " + std::to_string(dimension);
    }
    if (feature.encoding != Encoding::none) text += " " + std::string(to_string(feature.encoding));
    if (feature.is_optional) text += " optional";
  } else {
    if (feature.length != kUnknown) text += std::to_string(feature.length) + " ";
    bool is_first = true;
    for (const auto& [name, child] : feature.children) {
      if (!is_first) text += ", ";
      is_first = false;
      if (!name.empty()) text += printable(name) + ": ";
      describe(child, text);
    }
  }
  text += ")";
}

}  // namespace

std::string_view to_string(MissingValues missing) {
  return missing == MissingValues::mask ? "mask" : "fill";
}

struct ExampleDecoder::State {
  State(Feature tree, ExampleOptions given, std::vector<bool> skipped)
      : features(std::move(tree)), options(std::move(given)), is_skipped(std::move(skipped)) {
    check_datasets(features, "", false);
    if (options.missing == MissingValues::mask) check_masks(features);
    std::vector<Leaf> all = tfds::leaves(features);
    std::vector<std::string> images;
    is_skipped.resize(all.size());
    for (Leaf& leaf : all) {
      const bool is_image = leaf.feature->is_image();
      if (is_image) images.push_back(leaf.key);
      const bool is_exception = is_image && std::ranges::count(options.except, leaf.key) > 0;
      decoders.emplace_back(std::move(leaf), options.decode_images != is_exception, options, keys);
      if (is_skipped[decoders.size() - 1]) continue;
      for (const std::string& key : decoders.back().keys()) {
        places[key].push_back(keys++);
      }
    }
    for (const std::string& name : options.except) {
      if (std::ranges::count(images, name) > 0) continue;
      throw Error({.kind = ErrorKind::invalid_argument,
                   .reason = "there is no image \"" + printable(name) + "\"",
                   .hint = there_are(std::move(images), name)});
    }
    size_t next_leaf = 0;
    root = node_of("", features, next_leaf);
    for (const auto& [key, of_key] : places) by_name.emplace(key, &of_key);
  }

  Feature features;
  ExampleOptions options;
  std::vector<bool> is_skipped;
  std::vector<LeafDecoder> decoders;
  size_t keys = 0;
  // The places of a key in FoundFeatures: several leaves may have the same one.
  std::unordered_map<std::string, std::vector<size_t>> places;
  std::unordered_map<std::string_view, const std::vector<size_t>*> by_name;
  Node root;

  DictValue decode_leaf(size_t index, const FoundFeatures& found) const {
    const LeafDecoder& decoder = decoders[index];
    try {
      return decoder.decode(found);
    } catch (const Error& error) {
      Error::Parts parts = error.parts();
      parts.reason = "feature \"" + printable(decoder.leaf().key) + "\": " + parts.reason;
      if (parts.offset)
        parts.reason += " (byte " + std::to_string(*parts.offset) + " of its value)";
      parts.offset.reset();
      throw Error(std::move(parts));
    }
  }

  // `steps`: of the Dataset around; nothing yet, or none.
  void decode(const Node& node, const FoundFeatures& found, Dict& out, bool in_dataset,
              std::optional<size_t>& steps) const {
    for (const Node& child : node.children) {
      const bool is_inside = in_dataset || child.is_dataset;
      std::optional<size_t> of_child;
      std::optional<size_t>& counted = child.is_dataset ? of_child : steps;
      if (child.is_dict) {
        decode(child, found, out.append(child.name, Dict()).dict(), is_inside, counted);
        continue;
      }
      if (is_skipped[child.leaf]) continue;
      DictValue value = decode_leaf(child.leaf, found);
      if (is_inside) check_steps(child, value, counted);
      out.append(child.name, std::move(value));
    }
  }

  void check_steps(const Node& leaf, const DictValue& value, std::optional<size_t>& steps) const {
    const size_t count = steps_of(value);
    if (steps && *steps != count) {
      throw Error({.kind = ErrorKind::corrupted,
                   .reason = "feature \"" + printable(decoders[leaf.leaf].leaf().key) +
                             "\": " + std::to_string(count) + " steps, where others have " +
                             std::to_string(*steps)});
    }
    steps = count;
  }
};

ExampleDecoder::ExampleDecoder(Feature features, ExampleOptions options)
    : ExampleDecoder(std::move(features), std::move(options), {}) {}
ExampleDecoder::ExampleDecoder(Feature features, ExampleOptions options,
                               const std::vector<bool>& skipped)
    : state_(std::make_shared<const State>(std::move(features), std::move(options), skipped)) {}
ExampleDecoder::~ExampleDecoder() = default;
ExampleDecoder::ExampleDecoder(const ExampleDecoder&) = default;
ExampleDecoder& ExampleDecoder::operator=(const ExampleDecoder&) = default;

bool ExampleDecoder::is_empty() const { return state_->keys == 0; }
const Feature& ExampleDecoder::features() const { return state_->features; }
std::vector<Leaf> ExampleDecoder::leaves() const { return tfds::leaves(state_->features); }

Dict ExampleDecoder::operator()(const Record& record) const {
  thread_local FoundFeatures found;
  found.assign(state_->keys, std::nullopt);
  try {
    for_each_feature(record.data, [&](std::string_view name, FeatureView feature) {
      const auto at = state_->by_name.find(name);
      if (at == state_->by_name.end()) return;
      for (const size_t place : *at->second) found[place] = feature;
    });
    Dict dict;
    std::optional<size_t> steps;
    state_->decode(state_->root, found, dict, false, steps);
    return dict;
  } catch (const Error& error) {
    Error::Parts parts = error.parts();
    if (parts.offset)
      parts.reason += " at byte " + std::to_string(*parts.offset) + " of the record";
    parts.path = record.path;
    parts.offset = record.path.empty() ? std::optional<uint64_t>() : record.offset;
    throw Error(std::move(parts));
  }
}

std::vector<Parameter> ExampleDecoder::parameters() const {
  std::string features;
  describe(state_->features, features);
  std::string except;
  for (const std::string& path : state_->options.except) {
    except += (except.empty() ? "" : ", ") + path;
  }
  return {{"features", features},
          {"decode_images", state_->options.decode_images},
          {"except", except},
          {"missing", to_string(state_->options.missing)},
          {"dct", to_string(state_->options.dct)},
          {"max_pixels", state_->options.max_pixels},
          {"max_bytes", state_->options.max_bytes}};
}

}  // namespace recordpipe::tfds
