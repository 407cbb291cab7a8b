// range: a source of integers in arithmetic progression.
#pragma once

#include <cstdint>

#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

// Yields the integers begin, begin + step, ... up to but excluding `end`; descending if step < 0;
// no integers if `end` is in the other direction. Accepts all int64 values. Supports random access.
// Throws Error{invalid_argument} if step is 0.
Dataset<int64_t> range(int64_t begin, int64_t end, int64_t step = 1);

// The same with begin = 0.
inline Dataset<int64_t> range(int64_t end) { return range(0, end); }

}  // namespace recordpipe
