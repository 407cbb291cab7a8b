// Converts the values of a protobuf Feature and of a column into one comparable form.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "recordpipe/example/columns.h"
#include "recordpipe/example/example_schema.h"
#include "recordpipe/proto/feature.pb.h"
#include "tests/support/bytes.h"

namespace recordpipe {

// The alternatives have the order of FeatureKind. Floats are stored as bits, so that NaNs can be
// compared.
using ExpectedValues = std::variant<std::monostate, std::vector<std::string>, std::vector<uint32_t>,
                                    std::vector<int64_t>>;

inline FeatureKind kind_of(const ExpectedValues& values) {
  return static_cast<FeatureKind>(values.index());
}

inline size_t size_of(const ExpectedValues& values) {
  if (const auto* texts = std::get_if<1>(&values)) return texts->size();
  if (const auto* bits = std::get_if<2>(&values)) return bits->size();
  if (const auto* int64s = std::get_if<3>(&values)) return int64s->size();
  return 0;
}

inline ExpectedValues nothing_of(FeatureKind kind) {
  if (kind == FeatureKind::bytes) return std::vector<std::string>();
  if (kind == FeatureKind::floats) return std::vector<uint32_t>();
  return std::vector<int64_t>();
}

inline ExpectedValues expected_values(const BytesValues& values) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < values.size(); ++i) texts.push_back(as_text(values[i]));
  return texts;
}

template <class Floats>
std::vector<uint32_t> bits_of(const Floats& floats) {
  std::vector<uint32_t> bits;
  for (const float value : floats) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

inline ExpectedValues expected_values(std::span<const float> values) { return bits_of(values); }

inline ExpectedValues expected_values(std::span<const int64_t> values) {
  return std::vector<int64_t>(values.begin(), values.end());
}

inline ExpectedValues expected_values(const proto::Feature& feature) {
  switch (feature.kind_case()) {
    case proto::Feature::kBytesList: {
      const auto& values = feature.bytes_list().value();
      return std::vector<std::string>(values.begin(), values.end());
    }
    case proto::Feature::kFloatList:
      return bits_of(feature.float_list().value());
    case proto::Feature::kInt64List: {
      const auto& values = feature.int64_list().value();
      return std::vector<int64_t>(values.begin(), values.end());
    }
    case proto::Feature::KIND_NOT_SET:
      break;
  }
  return {};
}

inline ExpectedValues expected_values(const DefaultValues& values) {
  if (const auto* texts = std::get_if<1>(&values)) return *texts;
  if (const auto* floats = std::get_if<2>(&values)) return bits_of(*floats);
  if (const auto* int64s = std::get_if<3>(&values)) return *int64s;
  return {};
}

// Default values that don't occur in Examples.
inline DefaultValues some_defaults(FeatureKind kind, size_t size) {
  if (kind == FeatureKind::bytes) return std::vector<std::string>(size, "missing");
  if (kind == FeatureKind::floats) return std::vector<float>(size, -0.125f);
  return std::vector<int64_t>(size, -987654321);
}

// Calls action(std::integral_constant<FeatureKind, kind>), for templates whose parameter is a kind.
template <typename Action>
auto with_kind(FeatureKind kind, Action action) {
  if (kind == FeatureKind::bytes) {
    return action(std::integral_constant<FeatureKind, FeatureKind::bytes>());
  }
  if (kind == FeatureKind::floats) {
    return action(std::integral_constant<FeatureKind, FeatureKind::floats>());
  }
  return action(std::integral_constant<FeatureKind, FeatureKind::int64s>());
}

}  // namespace recordpipe
