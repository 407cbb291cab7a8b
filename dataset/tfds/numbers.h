// Numbers of Examples, which are int64s or floats, as the declared dtype: what tf.cast does.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/tensor_proto.h"

namespace recordpipe::tfds {

bool is_floating(TensorType type);
// The kind of the list that stores values of this dtype without an encoding.
FeatureKind kind_of(const std::optional<TensorType>& dtype);

// Writes all values of `feature`, of kind_of(type), to `out`, which has size() * size_of(type)
// bytes. Integers wrap around, as in C; a uint64 has the bits of the int64; a bool is whether the
// value is not 0; smaller floats are rounded to nearest even.
void write_numbers(const FeatureView& feature, TensorType type, std::span<std::byte> out);

// The same for values that are decoded already.
void cast_numbers(std::span<const float> values, TensorType type, std::span<std::byte> out);
void cast_numbers(std::span<const int64_t> values, TensorType type, std::span<std::byte> out);

// Writes `count` times what TensorFlow has in place of missing values: the least finite value of
// the dtype, or false.
void write_least(TensorType type, std::span<std::byte> out);

}  // namespace recordpipe::tfds
