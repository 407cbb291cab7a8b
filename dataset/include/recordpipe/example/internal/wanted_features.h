// Represents a validated schema with fast lookup by name, for the decoders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example/example_schema.h"
#include "recordpipe/example/unlisted_features.h"

namespace recordpipe {

// One feature, or one feature list. Of 128 bytes, so that looking one up by index takes a shift.
struct WantedFeature {
  std::string name;
  FeatureKind kind = FeatureKind::none;
  bool fixed = false;     // FixedLen or FixedLenSequence, otherwise ragged
  bool required = false;  // a missing feature is an error
  TensorEncoding encoding = TensorEncoding::proto;  // of `tensor`
  std::vector<size_t> shape = {};                   // if fixed
  size_t size = 0;                                  // the number of values of the shape
  DefaultValues default_values = {};
  std::optional<size_t> value_bytes = {};
  std::optional<TensorType> tensor = {};  // of kind bytes; `fixed`, `shape` and `size` are its own
  bool utf8 = false;
  bool empty_is_missing = false;
  bool is_view = false;  // has no column
  bool has_utf8_name = true;
};

class WantedFeatures {
 public:
  WantedFeatures() = default;
  // Both constructors throw Error{invalid_argument}, with the feature's name, for a feature without
  // a kind, a dimension of 0, a shape of 2^31 values or more (no Example can hold them), default
  // values whose kind, number or size differs from the feature's, value_bytes for another kind than
  // bytes or another shape than {}, or utf8 for another kind than bytes or default values that are
  // not UTF-8.
  explicit WantedFeatures(const ExampleSchema& schema,
                          std::shared_ptr<UnlistedFeatures> unlisted = nullptr);
  explicit WantedFeatures(const FeatureListSchema& schema,
                          std::shared_ptr<UnlistedFeatures> unlisted = nullptr);

  size_t size() const { return features_.size(); }
  const WantedFeature& operator[](size_t i) const { return features_[i]; }

  // Returns the index of feature `name`; size() if there is none. Tries `guess` first.
  size_t find(std::string_view name, size_t guess = 0) const {
    if (guess < features_.size() && equal(features_[guess].name, name)) return guess;
    return look_up(name);
  }

  // What watches for features that are not in the schema; null: they are ignored.
  UnlistedFeatures* unlisted() const { return unlisted_.get(); }

  // Returns the schema as text, for example
  // {'label': int64s, 'box': floats[4] or [0, 0, 1, 1], 'words': ragged bytes}. Different schemas
  // have different texts. Long default values are represented by their CRC-32C.
  std::string text() const;

 private:
  // Without a call of memcmp, which takes longer than the comparison of a usual name.
  static bool equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    const size_t size = a.size();
    const auto word = [](std::string_view text, size_t at) {
      uint64_t value;
      std::memcpy(&value, text.data() + at, sizeof(value));
      return value;
    };
    if (size < sizeof(uint64_t)) {
      for (size_t i = 0; i < size; ++i) {
        if (a[i] != b[i]) return false;
      }
      return true;
    }
    for (size_t i = 0; i + sizeof(uint64_t) < size; i += sizeof(uint64_t)) {
      if (word(a, i) != word(b, i)) return false;
    }
    return word(a, size - sizeof(uint64_t)) == word(b, size - sizeof(uint64_t));
  }
  size_t look_up(std::string_view name) const;
  void make_table();

  std::vector<WantedFeature> features_;  // sorted by name
  // Open addressing: 1 + the index of a feature, or 0. At most half full; a power of two.
  std::vector<uint32_t> table_;
  std::shared_ptr<UnlistedFeatures> unlisted_;
};

// "bytes", "floats", "int64s", "nothing".
std::string_view to_string(FeatureKind kind);

}  // namespace recordpipe
