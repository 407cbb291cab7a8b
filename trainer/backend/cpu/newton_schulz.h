// The nearest orthogonal matrix, roughly, for Muon: see Variables::apply_momentum().
#pragma once

#include <cstddef>

#include "recordpipe/base/internal/aligned_allocator.h"

namespace recordpipe {

class NewtonSchulz {
 public:
  // For matrices of at most this size.
  void reserve(size_t rows, size_t columns);
  // Replaces x, [rows][columns].
  void orthogonalize(size_t rows, size_t columns, float* x);

 private:
  internal::AlignedVector<float> product_;            // as x
  internal::AlignedVector<float> gram_, polynomial_;  // square, of the shorter side
};

}  // namespace recordpipe
