// Serialises Features and maps of Features, the parts of Examples and SequenceExamples. Lists are
// packed and keys sorted, as in protobuf's deterministic serialisation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace recordpipe {

// Return a serialised Feature; an empty `values` gives an empty list.
std::string bytes_feature(std::span<const std::span<const std::byte>> values);
std::string int64s_feature(std::span<const int64_t> values);
std::string floats_feature(std::span<const float> values);

// Name → serialised Feature (or FeatureList).
using SerializedFeatures = std::map<std::string, std::string, std::less<>>;

// Appends a Features (or FeatureLists) message as field `field`; appends nothing if `features` is
// empty.
void append_feature_map(uint32_t field, const SerializedFeatures& features, std::string& out);

// The same for features that are sorted by name already, for many Examples of the same features:
// no map is built.
using NamedSerializedFeature = std::pair<std::string_view, std::string>;
void append_example(std::span<const NamedSerializedFeature> sorted, std::string& out);

}  // namespace recordpipe
