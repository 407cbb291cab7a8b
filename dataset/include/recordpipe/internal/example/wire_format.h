// The parts of protobuf's wire format that tf.train.Example and SequenceExample use.
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstdint>

namespace recordpipe {

enum class WireType : uint32_t {
  varint = 0,
  fixed64 = 1,
  length_delimited = 2,
  start_group = 3,
  end_group = 4,
  fixed32 = 5,
};

constexpr uint32_t wire_tag(uint32_t field, WireType type) {
  return field << 3 | static_cast<uint32_t>(type);
}

constexpr uint32_t length_delimited_tag(uint32_t field) {
  return wire_tag(field, WireType::length_delimited);
}

constexpr WireType wire_type(uint32_t tag) { return static_cast<WireType>(tag & 7); }

// Field numbers of feature.proto and example.proto.
inline constexpr uint32_t kExampleFeatures = 1;
inline constexpr uint32_t kSequenceContext = 1;
inline constexpr uint32_t kSequenceFeatureLists = 2;
inline constexpr uint32_t kFeaturesEntry = 1;
inline constexpr uint32_t kFeatureListsEntry = 1;
inline constexpr uint32_t kEntryKey = 1;
inline constexpr uint32_t kEntryValue = 2;
inline constexpr uint32_t kFeatureListFeature = 1;
inline constexpr uint32_t kFeatureBytesList = 1;
inline constexpr uint32_t kFeatureFloatList = 2;
inline constexpr uint32_t kFeatureInt64List = 3;
inline constexpr uint32_t kListValue = 1;

}  // namespace recordpipe
