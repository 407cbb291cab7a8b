// Reads a serialised tf.train.Example without a copy: no protobuf object, no copy of bytes values,
// no allocation to read a single value.
//
// Accepts the same bytes as protobuf's parser: packed and unpacked lists, lists in several pieces,
// duplicate map keys (the last one wins), unknown fields, concatenated messages (which are merged).
// Rejects the same bytes, including keys that are not UTF-8. Tests compare the two parsers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace recordpipe {

struct FeatureSize;

enum class FeatureKind { none, bytes, floats, int64s };  // none: a Feature with nothing set

// The encoded values of one feature; valid as long as the bytes of the Example. feature_values.h
// iterates over the values without allocation.
class FeatureView {
 public:
  FeatureKind kind() const { return kind_; }
  // The number of values.
  size_t size() const { return size_; }
  // Return the value of a feature with exactly one value of this kind; nullopt for any other
  // feature.
  std::optional<std::span<const std::byte>> single_bytes() const;
  std::optional<int64_t> single_int64() const;
  std::optional<float> single_float() const;
  // Return all values; empty if the feature has another kind.
  std::vector<std::span<const std::byte>> bytes_values() const;
  std::vector<int64_t> int64_values() const;
  std::vector<float> float_values() const;

 private:
  friend class FeatureListView;
  friend class MessageView;
  friend void for_each_feature(
      std::span<const std::byte> example,
      const std::function<void(std::string_view name, FeatureView feature)>& visit);
  template <FeatureKind kind, typename Visit>
  friend void for_each_value(const FeatureView& feature, Visit visit);
  template <FeatureKind kind>
  friend class ValueReader;
  FeatureView(std::span<const std::byte> encoded, const FeatureSize& size, bool in_entry = true);

  // The validated map entry of the feature, whose value may be split into several pieces; in a
  // feature list, the Feature itself.
  std::span<const std::byte> encoded_;
  bool in_entry_;
  bool replaced_;
  FeatureKind kind_;
  size_t size_;
  std::span<const std::byte> last_;  // the last value: bytes, or the four bytes of a float
  int64_t last_int64_;
};

// Returns the feature `name` of a serialised Example; nullopt if there is none. Validates the whole
// Example, which takes a few nanoseconds per value. Throws Error{corrupted}, with the offset in
// `example`, if the bytes are not an Example, and Error{limit_exceeded} for 2 GiB or more
// (protobuf's limit).
std::optional<FeatureView> find_feature(std::span<const std::byte> example, std::string_view name);

// Calls visit(name, feature) for each feature in the order of the bytes, for finding several
// features in one pass. If several features have the same name, the last one wins. Throws the
// errors of find_feature(), possibly after some calls of `visit`.
void for_each_feature(std::span<const std::byte> example,
                      const std::function<void(std::string_view name, FeatureView feature)>& visit);

}  // namespace recordpipe
