// range: whole numbers at equal distances.
#pragma once

#include <cstdint>

#include "recordpipe/dataset.h"

namespace recordpipe {

// The numbers from `begin`, `step` apart, up to but not `end`; downwards where step < 0; none where
// end lies the other way. All of int64's numbers will do. With random access. Throws
// Error{invalid_argument} where step is 0.
Dataset<int64_t> range(int64_t begin, int64_t end, int64_t step = 1);

// From 0.
inline Dataset<int64_t> range(int64_t end) { return range(0, end); }

}  // namespace recordpipe
