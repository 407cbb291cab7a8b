// Represents a validated schema with fast lookup by name, for the decoders.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example_schema.h"

namespace recordpipe {

// One feature, or one feature list.
struct WantedFeature {
  std::string name;
  FeatureKind kind = FeatureKind::none;
  bool fixed = false;              // FixedLen or FixedLenSequence, otherwise ragged
  bool required = false;           // a missing feature is an error
  std::vector<size_t> shape = {};  // if fixed
  size_t size = 0;                 // the number of values of the shape
  DefaultValues default_values = {};
  std::optional<size_t> value_bytes = {};
  std::optional<TensorType> tensor = {};  // of kind bytes; `fixed`, `shape` and `size` are its own
  bool utf8 = false;
  bool empty_is_missing = false;
  bool is_view = false;  // has no column
};

class WantedFeatures {
 public:
  WantedFeatures() = default;
  // Both constructors throw Error{invalid_argument}, with the feature's name, for a feature without
  // a kind, a dimension of 0, a shape of 2^31 values or more (no Example can hold them), default
  // values whose kind, number or size differs from the feature's, value_bytes for another kind than
  // bytes or another shape than {}, or utf8 for another kind than bytes or default values that are
  // not UTF-8.
  explicit WantedFeatures(const ExampleSchema& schema);
  explicit WantedFeatures(const FeatureListSchema& schema);

  size_t size() const { return features_.size(); }
  const WantedFeature& operator[](size_t i) const { return features_[i]; }

  // Returns the index of feature `name`; size() if there is none. Tries `guess` first: writers keep
  // the same order in every record, so pass the index after the previous result.
  size_t find(std::string_view name, size_t guess = 0) const;

  // Returns the schema as text, for example
  // {'label': int64s, 'box': floats[4] or [0, 0, 1, 1], 'words': ragged bytes}. Different schemas
  // have different texts. Long default values are represented by their CRC-32C.
  std::string text() const;

 private:
  std::vector<WantedFeature> features_;  // sorted by name
};

// "bytes", "floats", "int64s", "nothing".
std::string_view to_string(FeatureKind kind);

}  // namespace recordpipe
