// The number of elements of a Dataset: the result of Dataset::cardinality(), like tf.data's.
#pragma once

#include <cstdint>

namespace recordpipe {

// A number of elements, or one of the constants below.
using Cardinality = int64_t;

inline constexpr Cardinality kInfiniteCardinality = -1;
// The number can't be found without computing the elements.
inline constexpr Cardinality kUnknownCardinality = -2;

}  // namespace recordpipe
