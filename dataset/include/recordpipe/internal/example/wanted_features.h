// A schema, checked and made ready for looking names up: what the decoders work with.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example_schema.h"

namespace recordpipe {

// One feature, or one feature list.
struct WantedFeature {
  std::string name;
  FeatureKind kind = FeatureKind::none;
  bool fixed = false;              // FixedLen or FixedLenSequence, else Ragged
  bool required = false;           // missing is an error
  std::vector<size_t> shape = {};  // where it is fixed
  size_t size = 0;                 // how many values the shape has
  DefaultValues default_values = {};
};

class WantedFeatures {
 public:
  WantedFeatures() = default;
  // Throw Error{invalid_argument} with the feature's name where one has no kind, a shape with a
  // dimension of 0 or of 2^31 values and more (which no Example holds), or default values of
  // another kind or number.
  explicit WantedFeatures(const ExampleSchema& schema);
  explicit WantedFeatures(const FeatureListSchema& schema);

  size_t size() const { return features_.size(); }
  const WantedFeature& operator[](size_t i) const { return features_[i]; }

  // Which feature is called `name`; size() where none is. `guess` is looked at first: writers have
  // the same order in every record, so the feature after the one found last is a good one.
  size_t find(std::string_view name, size_t guess = 0) const;

  // Such as {'label': int64s, 'box': floats[4] or [0, 0, 1, 1], 'words': ragged bytes}. Another
  // schema's is another; of long default values it holds no more than their CRC-32C.
  std::string text() const;

 private:
  std::vector<WantedFeature> features_;  // sorted by name
};

// "bytes", "floats", "int64s", "nothing".
std::string_view to_string(FeatureKind kind);

}  // namespace recordpipe
