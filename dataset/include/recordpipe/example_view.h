// tf.train.Example read where it lies: no protobuf object, no copy of bytes values, no allocation
// on the way to a single value.
//
// Accepts what protobuf accepts: packed and unpacked lists, lists in several pieces, duplicate map
// keys (the last one wins), unknown fields, concatenated messages (they merge). Refuses what it
// refuses, keys that are not UTF-8 included. The tests compare it with protobuf's own parser.
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

// One feature's values, still encoded; valid as long as the Example's bytes. feature_values.h
// visits them one by one.
class FeatureView {
 public:
  FeatureKind kind() const { return kind_; }
  // How many values the list holds.
  size_t size() const { return size_; }
  // The value of a feature that must hold exactly one of this kind; nothing where it doesn't.
  std::optional<std::span<const std::byte>> single_bytes() const;
  std::optional<int64_t> single_int64() const;
  std::optional<float> single_float() const;
  // All values; none where the feature is of another kind.
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

  // The map entry it stands in, checked: its value may come in several pieces. Or, in a feature
  // list, the Feature itself.
  std::span<const std::byte> encoded_;
  bool in_entry_;
  bool replaced_;
  FeatureKind kind_;
  size_t size_;
  std::span<const std::byte> last_;  // value: bytes, or those of a float
  int64_t last_int64_;
};

// Finds the feature `name` in a serialised Example; nothing where it isn't there. The whole Example
// is checked, other features too: what a pass costs is a few nanoseconds a value. Throws
// Error{corrupted} with the offset in `example` where the bytes are no such message, and
// Error{limit_exceeded} for 2 GiB and more, as protobuf refuses them.
std::optional<FeatureView> find_feature(std::span<const std::byte> example, std::string_view name);

// Calls visit(name, feature) for each feature as it comes by: several are found in one pass. Of
// those with the same name the last one counts. Throws as find_feature() does, whatever was visited
// by then.
void for_each_feature(std::span<const std::byte> example,
                      const std::function<void(std::string_view name, FeatureView feature)>& visit);

}  // namespace recordpipe
