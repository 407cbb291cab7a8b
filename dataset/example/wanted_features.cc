#include "recordpipe/example/internal/wanted_features.h"

#include <algorithm>
#include <bit>
#include <span>
#include <type_traits>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/example/internal/values_buffer.h"

namespace recordpipe {
namespace {

[[noreturn]] void refuse_feature(const std::string& name, std::string reason) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "schema: feature '" + printable(name) + "' has " + std::move(reason)});
}

size_t values_of_shape(const std::string& name, const std::vector<size_t>& shape) {
  constexpr size_t kLimit = size_t{1} << 31;
  size_t size = 1;
  for (const size_t dimension : shape) {
    if (dimension == 0) refuse_feature(name, "a shape with a dimension of 0");
    if (dimension >= kLimit || size * dimension >= kLimit) {
      refuse_feature(name, "a shape of 2^31 values or more");
    }
    size *= dimension;
  }
  return size;
}

void check_default(const WantedFeature& feature) {
  std::visit(
      [&](const auto& values) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(values)>, std::monostate>) {
          if (feature.default_values.index() != static_cast<size_t>(feature.kind)) {
            refuse_feature(feature.name, "default values of another kind than the feature");
          }
          if (values.size() != feature.size) {
            refuse_feature(feature.name, std::to_string(values.size()) +
                                             " default values for a shape of " +
                                             std::to_string(feature.size));
          }
        }
      },
      feature.default_values);
}

void check_value_bytes(const WantedFeature& feature) {
  if (!feature.value_bytes) return;
  if (feature.kind != FeatureKind::bytes || !feature.shape.empty()) {
    refuse_feature(feature.name, "value_bytes, which needs kind bytes and shape {}");
  }
  if (!feature.required && bytes_of(feature.default_values) != *feature.value_bytes) {
    refuse_feature(feature.name, "a default value of another size than value_bytes");
  }
}

void check_utf8(const WantedFeature& feature) {
  if (!feature.utf8) return;
  if (feature.kind != FeatureKind::bytes)
    refuse_feature(feature.name, "utf8, which needs kind bytes");
  if (const auto* texts = std::get_if<std::vector<std::string>>(&feature.default_values)) {
    if (!std::ranges::all_of(*texts, is_utf8)) {
      refuse_feature(feature.name, "a default value that is not UTF-8");
    }
  }
}

void check_view(const WantedFeature& feature) {
  if (!feature.is_view) return;
  if (feature.kind != FeatureKind::bytes || !feature.shape.empty() || !feature.required) {
    refuse_feature(feature.name, "is_view, which needs kind bytes, shape {} and no default values");
  }
}

struct Want {
  const std::string& name;

  WantedFeature operator()(const FixedLen& fixed) const {
    WantedFeature feature{.name = name,
                          .kind = fixed.kind,
                          .fixed = true,
                          .required = fixed.default_values.index() == 0,
                          .shape = fixed.shape,
                          .size = values_of_shape(name, fixed.shape),
                          .default_values = fixed.default_values,
                          .value_bytes = fixed.value_bytes,
                          .utf8 = fixed.utf8,
                          .empty_is_missing = fixed.empty_is_missing,
                          .is_view = fixed.is_view};
    check_default(feature);
    check_value_bytes(feature);
    check_view(feature);
    return feature;
  }
  WantedFeature operator()(const FixedLenSequence& fixed) const {
    return {.name = name,
            .kind = fixed.kind,
            .fixed = true,
            .required = !fixed.allow_missing,
            .shape = fixed.shape,
            .size = values_of_shape(name, fixed.shape),
            .utf8 = fixed.utf8};
  }
  WantedFeature operator()(const Ragged& ragged) const {
    return {.name = name, .kind = ragged.kind, .utf8 = ragged.utf8};
  }
  WantedFeature operator()(const SerializedTensor& tensor) const {
    return {.name = name,
            .kind = FeatureKind::bytes,
            .fixed = !tensor.ragged,
            .required = !tensor.allow_missing,
            .encoding = tensor.encoding,
            .shape = tensor.shape,
            .size = values_of_shape(name, tensor.shape),
            .tensor = tensor.type,
            .empty_is_missing = tensor.allow_missing && tensor.encoding != TensorEncoding::proto};
  }
};

uint64_t hash_of(std::string_view name) {
  uint64_t hash = name.size();
  const auto mix = [&](const char* from, size_t size) {
    uint64_t word = 0;
    std::memcpy(&word, from, size);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  constexpr size_t kWord = sizeof(uint64_t);
  if (name.size() < kWord) {
    if (!name.empty()) mix(name.data(), name.size());
    return hash;
  }
  for (size_t at = 0; at + kWord < name.size(); at += kWord) mix(name.data() + at, kWord);
  mix(name.data() + name.size() - kWord, kWord);
  return hash;
}

std::string text_of(const std::string& value) {
  std::string text = "'";
  text += printable(value);
  return text += '\'';
}
std::string text_of(float value) { return shortest_text(value); }
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(size_t value) { return std::to_string(value); }

template <class T>
std::string list(const std::vector<T>& values) {
  std::string out = "[";
  for (const T& value : values) {
    if (out.size() > 1) out += ", ";
    out += text_of(value);
  }
  return out += ']';
}

std::string text_of(const DefaultValues& values) {
  constexpr size_t kMaxShown = 64;
  const std::string text = std::visit(
      [](const auto& all) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(all)>, std::monostate>)
          return "none";
        else
          return list(all);
      },
      values);
  if (text.size() <= kMaxShown) return text;
  return "values of crc32c " + std::to_string(crc32c(std::as_bytes(std::span(text))));
}

std::string text_of(const WantedFeature& feature) {
  std::string text = text_of(feature.name) + ": ";
  if (feature.tensor) {
    text += feature.encoding == TensorEncoding::proto        ? "tensor of "
            : feature.encoding == TensorEncoding::big_endian ? "big-endian "
                                                             : "raw ";
    text += to_string(*feature.tensor);
    text += shape_text(feature.shape, !feature.fixed);
    return feature.required ? text : text + " or none";
  }
  if (!feature.fixed) text += "ragged ";
  if (feature.utf8) text += "UTF-8 ";
  text += to_string(feature.kind);
  if (!feature.shape.empty()) text += list(feature.shape);
  if (feature.value_bytes) text += " of " + std::to_string(*feature.value_bytes);
  if (feature.empty_is_missing) text += " or empty";
  if (feature.is_view) text += " as a view";
  if (feature.fixed && !feature.required) text += " or " + text_of(feature.default_values);
  return text;
}

template <class Schema>
std::vector<WantedFeature> want(const Schema& schema) {
  std::vector<WantedFeature> features;
  features.reserve(schema.size());
  for (const auto& [name, form] : schema) {
    features.push_back(std::visit(Want{name}, form));
    if (features.back().kind == FeatureKind::none) refuse_feature(name, "no kind");
    check_utf8(features.back());
    features.back().has_utf8_name = is_utf8(name);
  }
  return features;
}

}  // namespace

WantedFeatures::WantedFeatures(const ExampleSchema& schema,
                               std::shared_ptr<UnlistedFeatures> unlisted)
    : features_(want(schema)), unlisted_(std::move(unlisted)) {
  make_table();
}

WantedFeatures::WantedFeatures(const FeatureListSchema& schema,
                               std::shared_ptr<UnlistedFeatures> unlisted)
    : features_(want(schema)), unlisted_(std::move(unlisted)) {
  make_table();
}

void WantedFeatures::make_table() {
  table_.assign(std::bit_ceil(2 * features_.size() + 1), 0);
  for (size_t i = 0; i < features_.size(); ++i) {
    size_t at = hash_of(features_[i].name) & (table_.size() - 1);
    while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = static_cast<uint32_t>(i + 1);
  }
}

size_t WantedFeatures::look_up(std::string_view name) const {
  if (features_.empty()) return 0;
  size_t at = hash_of(name) & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1)) {
    if (equal(features_[table_[at] - 1].name, name)) return table_[at] - 1;
  }
  return features_.size();
}

std::string WantedFeatures::text() const {
  std::string out = "{";
  for (const WantedFeature& feature : features_) {
    if (out.size() > 1) out += ", ";
    out += text_of(feature);
  }
  return out += '}';
}

std::string_view to_string(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::bytes:
      return "bytes";
    case FeatureKind::floats:
      return "floats";
    case FeatureKind::int64s:
      return "int64s";
    case FeatureKind::none:
      break;
  }
  return "nothing";
}

}  // namespace recordpipe
