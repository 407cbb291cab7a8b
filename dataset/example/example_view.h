// tf.train.Example read where it lies: no protobuf object, no copy of bytes values.
//
// Accepts what protobuf accepts: packed and unpacked lists, lists in several pieces, duplicate map
// keys (the last one wins), unknown fields, concatenated messages (they merge). The tests compare
// it with protobuf's own parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace recordpipe {

enum class FeatureKind { none, bytes, floats, int64s };  // none: a Feature with nothing set

// One feature's values, still encoded.
class FeatureView {
 public:
  FeatureView() = default;
  explicit FeatureView(std::span<const std::byte> feature) : encoded_(feature) {}

  FeatureKind kind() const;
  // How many values the list holds.
  size_t size() const;
  // The value of a feature that must hold exactly one of this kind; nothing where it doesn't.
  std::optional<std::span<const std::byte>> single_bytes() const;
  std::optional<int64_t> single_int64() const;
  std::optional<float> single_float() const;

 private:
  std::span<const std::byte> encoded_;  // a serialised Feature
};

// Finds the feature `name` in a serialised Example; nothing where it isn't there. Throws
// Error{corrupted} with the offset in `example` where the bytes are no protobuf message.
std::optional<FeatureView> find_feature(std::span<const std::byte> example, std::string_view name);

}  // namespace recordpipe
