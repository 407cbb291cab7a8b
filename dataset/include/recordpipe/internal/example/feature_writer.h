// Features and maps of them, serialised: what Examples and SequenceExamples are put together from.
// Lists are packed and keys sorted, as protobuf's deterministic serialisation has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace recordpipe {

// A Feature with a list, if only an empty one.
std::string bytes_feature(std::span<const std::span<const std::byte>> values);
std::string int64s_feature(std::span<const int64_t> values);
std::string floats_feature(std::span<const float> values);

// Name → serialised Feature (or FeatureList).
using SerializedFeatures = std::map<std::string, std::string, std::less<>>;

// Appends a Features (or FeatureLists) message as field `field`; nothing where there are none.
void append_feature_map(uint32_t field, const SerializedFeatures& features, std::string& out);

}  // namespace recordpipe
