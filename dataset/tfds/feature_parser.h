// Makes Features of the JSON of features.json, in both spellings.
#pragma once

#include <cstddef>
#include <string>

#include "dataset/tfds/json.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::tfds {

class FeatureParser {
 public:
  explicit FeatureParser(std::string path) : path_(std::move(path)) {}

  Feature parse(const Json& root) { return node(JsonObject(root, path_, ""), 0); }

 private:
  // `object` is {"pythonClassName": ..., "tensor": ...} or {"type": ..., "content": ...}; its place
  // is the feature's path.
  Feature node(const JsonObject& object, size_t depth);
  Feature legacy(const JsonObject& object, size_t depth);
  // The properties of a feature, in the spelling of the protobuf message or the older one.
  Feature contents(const JsonObject& object, const std::string& class_name, size_t depth);
  void children(Feature& feature, const JsonObject& object, size_t depth);

  std::string path_;
  size_t features_ = 0;
};

}  // namespace recordpipe::tfds
