// Values that an Example stores as byte strings: images, and tensors with an encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recordpipe/example/dict.h"
#include "recordpipe/tfds/decode.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::tfds {

// Appends the values of a tensor's bytes, decompressed if its encoding is zlib, to `out`, and
// returns its shape. `stored_shape`: of KEY/shape, or empty. Throws Error{corrupted,
// limit_exceeded} for more than `max_bytes`, and Error{unsupported} for another number of values
// than the shape's.
std::vector<size_t> append_tensor(const Feature& feature, std::span<const std::byte> encoded,
                                  std::span<const int64_t> stored_shape, uint64_t max_bytes,
                                  internal::AlignedVector<std::byte>& out);

// The same for the pixels of an image, whose header is checked before they are decoded.
std::vector<size_t> append_image(const Feature& feature, std::span<const std::byte> file,
                                 const ExampleOptions& options, uint64_t max_bytes,
                                 internal::AlignedVector<std::byte>& out);

}  // namespace recordpipe::tfds
