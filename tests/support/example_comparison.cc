#include "tests/support/example_comparison.h"

#include <bit>
#include <cstdint>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_view.h"
#include "recordpipe/proto/example.pb.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

FeatureKind kind_of(const proto::Feature& feature) {
  switch (feature.kind_case()) {
    case proto::Feature::kBytesList:
      return FeatureKind::bytes;
    case proto::Feature::kFloatList:
      return FeatureKind::floats;
    case proto::Feature::kInt64List:
      return FeatureKind::int64s;
    case proto::Feature::KIND_NOT_SET:
      break;
  }
  return FeatureKind::none;
}

std::vector<std::string> as_texts(const std::vector<std::span<const std::byte>>& values) {
  std::vector<std::string> texts;
  for (const auto& value : values) texts.push_back(as_text(value));
  return texts;
}

// Returns floats as bits, so that NaNs can be compared.
std::vector<uint32_t> bits_of(std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

template <typename Values>
std::vector<typename Values::value_type> to_vector(const Values& values) {
  return {values.begin(), values.end()};
}

std::string difference(const FeatureView& view, const proto::Feature& feature) {
  const auto bytes = to_vector(feature.bytes_list().value());
  const auto floats = to_vector(feature.float_list().value());
  const auto int64s = to_vector(feature.int64_list().value());
  if (view.kind() != kind_of(feature)) return "another kind";
  if (view.size() != bytes.size() + floats.size() + int64s.size()) return "another size";
  if (as_texts(view.bytes_values()) != bytes) return "other bytes values";
  if (bits_of(view.float_values()) != bits_of(floats)) return "other float values";
  if (view.int64_values() != std::vector<int64_t>(int64s.begin(), int64s.end())) {
    return "other int64 values";
  }
  const auto single_bytes = view.single_bytes();
  if (single_bytes.has_value() != (bytes.size() == 1) ||
      (single_bytes && as_text(*single_bytes) != bytes[0])) {
    return "another single bytes value";
  }
  const auto single_int64 = view.single_int64();
  if (single_int64.has_value() != (int64s.size() == 1) ||
      (single_int64 && *single_int64 != int64s[0])) {
    return "another single int64 value";
  }
  const auto single_float = view.single_float();
  if (single_float.has_value() != (floats.size() == 1) ||
      (single_float && bits_of({&*single_float, 1}) != bits_of(floats))) {
    return "another single float value";
  }
  return "";
}

bool accepted_by_view(std::span<const std::byte> bytes, std::string& reason) {
  try {
    find_feature(bytes, "");
    return true;
  } catch (const Error& error) {
    reason = error.what();
    if (!error.offset() || *error.offset() > bytes.size()) reason += " [offset outside]";
    return false;
  }
}

}  // namespace

std::string difference_from_protobuf(std::span<const std::byte> bytes) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  proto::Example parsed;
  const bool expected = parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  std::string reason;
  if (accepted_by_view(bytes, reason) != expected) {
    return expected ? "refused, protobuf accepts it: " + reason : "accepted, protobuf refuses it";
  }
  if (reason.ends_with("[offset outside]")) return reason;
  if (!expected) return "";
  for (const auto& [name, feature] : parsed.features().feature()) {
    const auto view = find_feature(bytes, name);
    if (!view) return "feature \"" + name + "\" not found";
    const std::string found = difference(*view, feature);
    if (!found.empty()) return "feature \"" + name + "\": " + found;
  }
  for (const char* name : {"", "a", "b", "label", "not there"}) {
    if (find_feature(bytes, name).has_value() != parsed.features().feature().contains(name)) {
      return std::string("feature \"") + name + "\" found by one only";
    }
  }
  return "";
}

}  // namespace recordpipe
