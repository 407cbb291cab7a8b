// Decodes one leaf of the tree of features from the features of an Example.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/example/dict.h"
#include "recordpipe/example/example_view.h"
#include "recordpipe/tfds/decode.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::tfds {

// The features of an Example that leaves have asked for by LeafDecoder::keys(), in that order;
// nothing: missing.
using FoundFeatures = std::vector<std::optional<FeatureView>>;

class LeafDecoder {
 public:
  // `decode`: whether an image is decoded. `first_key`: the place of keys()[0] in FoundFeatures.
  // Throws Error{unsupported} for a leaf that can't be decoded.
  LeafDecoder(Leaf leaf, bool decode, const ExampleOptions& options, size_t first_key);

  const Leaf& leaf() const { return leaf_; }
  // Of the Example.
  std::vector<std::string> keys() const;

  // Throws Error without the place.
  DictValue decode(const FoundFeatures& found) const;

 private:
  bool is_sequence() const { return leaf_.lengths.size() == 1; }
  bool is_ragged() const { return leaf_.lengths.size() > 1; }
  bool is_missing(const FoundFeatures& found) const;
  const std::optional<FeatureView>& feature(const FoundFeatures& found, size_t key) const {
    return found[first_key_ + key];
  }

  DictValue missing() const;
  DictValue decode_present(const FoundFeatures& found) const;
  // The values that `feature` holds; their shape is `declared` without unknown dimensions.
  DictValue plain(const std::optional<FeatureView>& feature,
                  const std::vector<int64_t>& declared) const;
  DictValue encoded(const FoundFeatures& found) const;
  // One array of all values, or a list of an array for each.
  DictValue items(const std::vector<std::span<const std::byte>>& values,
                  const std::vector<int64_t>& shapes) const;
  // `used`: the bytes of the values before it in the sequence.
  std::vector<size_t> append(std::span<const std::byte> value, std::span<const int64_t> shape,
                             uint64_t used, internal::AlignedVector<std::byte>& out) const;
  // The most bytes of a value with all its items.
  uint64_t max_bytes() const;
  void check_bytes(uint64_t bytes) const;
  DictValue ragged(const FoundFeatures& found) const;
  // The shape of a value in the Dict: with the lengths of sequences, {} if images stay encoded.
  std::vector<int64_t> declared_shape() const;
  Stacking stacking() const;

  Leaf leaf_;
  bool keep_encoded_ = false;
  ExampleOptions options_;
  size_t first_key_;
};

}  // namespace recordpipe::tfds
