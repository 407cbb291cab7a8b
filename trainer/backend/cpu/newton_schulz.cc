#include "trainer/backend/cpu/newton_schulz.h"

#include <algorithm>
#include <cmath>

#include "trainer/backend/cpu/onednn.h"

namespace recordpipe {
namespace {

// c = a · b, row-major; 'T': transposed.
void multiply(char transposed_a, char transposed_b, size_t rows, size_t columns, size_t depth,
              const float* a, const float* b, float* c) {
  const auto dim = [](size_t n) { return static_cast<dnnl::memory::dim>(n); };
  dnnl::sgemm(transposed_a, transposed_b, dim(rows), dim(columns), dim(depth), 1, a,
              dim(transposed_a == 'T' ? rows : depth), b,
              dim(transposed_b == 'T' ? depth : columns), 0, c, dim(columns));
}

// y = a · x + b · y
void combine(size_t size, float a, const float* x, float b, float* y) {
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < size; ++i) y[i] = a * x[i] + b * y[i];
}

}  // namespace

void NewtonSchulz::reserve(size_t rows, size_t columns) {
  const size_t side = std::min(rows, columns);
  if (product_.size() < rows * columns) product_ = internal::AlignedVector<float>(rows * columns);
  if (gram_.size() >= side * side) return;
  gram_ = internal::AlignedVector<float>(side * side);
  polynomial_ = internal::AlignedVector<float>(side * side);
}

void NewtonSchulz::orthogonalize(size_t rows, size_t columns, float* x) {
  const size_t size = rows * columns;
  double squares = 0;
  for (size_t i = 0; i < size; ++i)
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const auto scale = static_cast<float>(1 / (std::sqrt(squares) + 1e-7));
  for (size_t i = 0; i < size; ++i) x[i] *= scale;

  float *gram = gram_.data(), *polynomial = polynomial_.data(), *product = product_.data();
  const bool wide = rows <= columns;
  const size_t side = std::min(rows, columns), depth = std::max(rows, columns);
  for (int step = 0; step < 3; ++step) {
    multiply(wide ? 'N' : 'T', wide ? 'T' : 'N', side, side, depth, x, x, gram);
    multiply('N', 'N', side, side, side, gram, gram, polynomial);
    combine(side * side, -4.775f, gram, 2.0315f, polynomial);
    if (wide)
      multiply('N', 'N', rows, columns, side, polynomial, x, product);
    else
      multiply('N', 'N', rows, columns, side, x, polynomial, product);
    combine(size, 1, product, 3.4445f, x);
  }
}

}  // namespace recordpipe
