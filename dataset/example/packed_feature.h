// Serialisation of numeric features from a generator function, without a copy of the values: a
// record may have millions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dataset/example/wire_writer.h"
#include "recordpipe/internal/endian.h"

namespace recordpipe {

// The header before `size` bytes of packed numbers, in a string with capacity for them.
inline std::string packed_feature_header(uint32_t list, size_t size) {
  const size_t list_size = size == 0 ? 0 : field_size(size);
  std::string feature;
  feature.reserve(field_size(list_size));
  append_length_header(list, list_size, feature);
  if (size > 0) append_length_header(kListValue, size, feature);
  return feature;
}

// value_at(i) returns the int64 at index i < count; it is called twice per index.
template <typename ValueAt>
std::string int64s_feature_of(size_t count, const ValueAt& value_at) {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += varint_size(static_cast<uint64_t>(value_at(i)));
  std::string feature = packed_feature_header(kFeatureInt64List, size);
  for (size_t i = 0; i < count; ++i) append_varint(static_cast<uint64_t>(value_at(i)), feature);
  return feature;
}

// value_at(i) returns the float at index i < count.
template <typename ValueAt>
std::string floats_feature_of(size_t count, const ValueAt& value_at) {
  const size_t size = sizeof(float) * count;
  std::string feature = packed_feature_header(kFeatureFloatList, size);
  size_t at = feature.size();
  feature.resize(at + size);
  for (size_t i = 0; i < count; ++i, at += sizeof(float)) {
    store_little_endian(std::bit_cast<uint32_t>(value_at(i)),
                        reinterpret_cast<std::byte*>(feature.data() + at));
  }
  return feature;
}

}  // namespace recordpipe
