// range: whole numbers at equal distances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "recordpipe/dataset.h"
#include "recordpipe/internal/operators/indexed_source.h"

namespace recordpipe {

// begin, begin + step, ... as long as they are before end. All of int64's numbers will do.
struct Progression {
  int64_t begin = 0;
  int64_t step = 1;
  uint64_t count = 0;

  uint64_t size() const { return count; }
  int64_t operator[](uint64_t i) const {
    return static_cast<int64_t>(static_cast<uint64_t>(begin) + i * static_cast<uint64_t>(step));
  }
};

// The numbers from `begin`, `step` apart, up to but not `end`; downwards where step < 0; none where
// end lies the other way. With random access. Saved: how many there were. Throws
// Error{invalid_argument} where step is 0.
inline Dataset<int64_t> range(int64_t begin, int64_t end, int64_t step = 1) {
  if (step == 0) {
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "range: step must not be 0"});
  }
  // Unsigned, since distances may be larger than an int64_t.
  const bool up = step > 0;
  const uint64_t stride = up ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const uint64_t distance = up ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)
                               : static_cast<uint64_t>(begin) - static_cast<uint64_t>(end);
  const bool any = up ? begin < end : begin > end;
  const Progression numbers{begin, step, any ? (distance - 1) / stride + 1 : 0};
  return Dataset<int64_t>(std::make_shared<IndexedNode<int64_t, Progression>>(
      "range", std::vector<PlanParameter>{{"begin", begin}, {"end", end}, {"step", step}},
      numbers));
}

// From 0.
inline Dataset<int64_t> range(int64_t end) { return range(0, end); }

}  // namespace recordpipe
