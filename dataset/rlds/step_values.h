// Turns the stored values of a step into elements of the declared type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/tensor_proto.h"
#include "recordpipe/rlds/step_layout.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::rlds {

// How the elements of a leaf are stored.
struct StoredAs {
  TensorType type = TensorType::float32;
  FeatureKind kind = FeatureKind::floats;          // of the list
  tfds::Encoding encoding = tfds::Encoding::none;  // of bytes
};

// Writes `count` elements, little-endian, to `out`. `unit`: the bytes of a unit (step_layout.h).
// Numbers are converted as tf.cast does: int64 values keep their low bits, a bool is whether a
// value is not 0. Throws Error{corrupted} for another number of elements.
void decode_unit(std::span<const std::byte> unit, const StoredAs& stored, size_t count,
                 std::byte* out);

// Returns unit `unit` of leaf `number` of the Example with any encoding: the bytes of a value,
// which point into `example`, or packed numbers in `scratch`; of ragged leaves always in `scratch`.
// Throws Error{not_found}, {unsupported} or {corrupted} without such values.
std::span<const std::byte> parse_unit(std::span<const std::byte> example,
                                      std::span<const StepLeaf> leaves, size_t number,
                                      uint64_t steps, uint64_t unit,
                                      std::vector<std::byte>& scratch);

}  // namespace recordpipe::rlds
