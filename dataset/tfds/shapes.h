// Shapes with unknown dimensions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace recordpipe::tfds {

// "[2, ?, 3]".
std::string declared_text(std::span<const int64_t> shape);

// The product of a shape without unknown dimensions. Throws Error{limit_exceeded} if elements of
// `width` bytes take more than `max_bytes`.
uint64_t known_size(std::span<const int64_t> shape, size_t width, uint64_t max_bytes);

// The shape of `count` elements: the unknown dimension, of which there is at most one, follows from
// the others. Throws Error{unsupported} if they don't fit.
std::vector<size_t> completed_shape(std::span<const int64_t> declared, size_t count);

// A stored shape, checked against the declared one. Throws Error{unsupported} if they differ.
std::vector<int64_t> merged_shape(std::span<const int64_t> declared,
                                  std::span<const int64_t> stored);

}  // namespace recordpipe::tfds
