// The bytes values of a SerializedTensor: measured, and copied to a column.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "recordpipe/example/internal/wanted_features.h"

namespace recordpipe {

// The bytes of a tensor of fixed shape, or of one item of a ragged tensor.
size_t tensor_bytes(const WantedFeature& feature);

// Returns the number of items of a ragged tensor, otherwise 1. Throws Error for a value that is not
// a tensor of the feature's type and shape; `what`: "feature" or "feature list". The offset within
// the value is in the reason.
size_t measure_tensor(std::string_view what, const WantedFeature& feature,
                      std::span<const std::byte> value);

// Throws the Error of a feature with several values, or none.
[[noreturn]] void refuse_tensors(std::string_view what, const WantedFeature& feature,
                                 size_t values);

// Writes the elements of a value that was measured. `out`: of the size of its items.
void copy_tensor(const WantedFeature& feature, std::span<const std::byte> value,
                 std::span<std::byte> out);

}  // namespace recordpipe
