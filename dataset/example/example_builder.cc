#include "recordpipe/example_builder.h"

#include <utility>

#include "recordpipe/internal/example/wire_format.h"

namespace recordpipe {

ExampleBuilder& ExampleBuilder::set_bytes(std::string_view name, std::span<const std::byte> value) {
  return set_bytes_list(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_bytes_list(std::string_view name,
                                               std::span<const std::span<const std::byte>> values) {
  return set(name, bytes_feature(values));
}

ExampleBuilder& ExampleBuilder::set_int64(std::string_view name, int64_t value) {
  return set_int64s(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_int64s(std::string_view name, std::span<const int64_t> values) {
  return set(name, int64s_feature(values));
}

ExampleBuilder& ExampleBuilder::set_float(std::string_view name, float value) {
  return set_floats(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_floats(std::string_view name, std::span<const float> values) {
  return set(name, floats_feature(values));
}

void ExampleBuilder::clear() { features_.clear(); }

void ExampleBuilder::append_to(std::string& out) const {
  append_feature_map(kExampleFeatures, features_, out);
}

std::string ExampleBuilder::serialize() const {
  std::string out;
  append_to(out);
  return out;
}

ExampleBuilder& ExampleBuilder::set(std::string_view name, std::string feature) {
  features_.insert_or_assign(std::string(name), std::move(feature));
  return *this;
}

}  // namespace recordpipe
