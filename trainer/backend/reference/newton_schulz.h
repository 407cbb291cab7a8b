// Makes a matrix roughly orthogonal, for Muon (Jordan et al. 2024,
// https://kellerjordan.github.io/posts/muon/).
//
//   x  [rows][columns], divided by its norm + 1e-7; then three times
//   x = 3.4445 x + (-4.775 g + 2.0315 g²) x     where g = x · xᵀ
//
// Each step maps a singular value s to 3.4445 s - 4.775 s³ + 2.0315 s⁵: all but the smallest ones
// come near 1. With more rows than columns, the transposed matrix is computed.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace recordpipe::reference {

// [a_rows][depth] · [depth][columns]
template <class T>
std::vector<T> product(size_t depth, std::span<const T> a, std::span<const T> b) {
  const size_t rows = a.size() / depth, columns = b.size() / depth;
  std::vector<T> c(rows * columns);
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < depth; ++k)
      for (size_t j = 0; j < columns; ++j)
        c[i * columns + j] += a[i * depth + k] * b[k * columns + j];
  return c;
}

template <class T>
std::vector<T> transposed(size_t rows, std::span<const T> x) {
  const size_t columns = x.size() / rows;
  std::vector<T> y(x.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) y[j * rows + i] = x[i * columns + j];
  return y;
}

template <class T>
std::vector<T> newton_schulz(size_t rows, std::vector<T> x) {
  const size_t columns = x.size() / rows;
  if (rows > columns) return transposed<T>(columns, newton_schulz(columns, transposed<T>(rows, x)));
  double squares = 0;
  for (const T value : x) squares += static_cast<double>(value) * static_cast<double>(value);
  for (T& value : x) value /= static_cast<T>(std::sqrt(squares) + 1e-7);
  for (int step = 0; step < 3; ++step) {
    const std::vector<T> g = product<T>(columns, x, transposed<T>(rows, x));
    std::vector<T> polynomial = product<T>(rows, g, g);
    for (size_t i = 0; i < g.size(); ++i)
      polynomial[i] = T(2.0315) * polynomial[i] - T(4.775) * g[i];
    const std::vector<T> more = product<T>(rows, polynomial, x);
    for (size_t i = 0; i < x.size(); ++i) x[i] = T(3.4445) * x[i] + more[i];
  }
  return x;
}

}  // namespace recordpipe::reference
