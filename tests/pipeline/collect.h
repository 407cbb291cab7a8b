// Helpers for tests of Dataset.
#pragma once

#include <cstdint>
#include <numeric>
#include <ostream>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

template <class T>
std::vector<T> collect(const Dataset<T>& dataset) {
  std::vector<T> out;
  for (T& element : dataset) out.push_back(std::move(element));
  return out;
}

inline std::vector<int> numbers(int n) {
  std::vector<int> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// Used in test names.
inline void PrintTo(const PipelineOptions& options, std::ostream* out) {
  *out << "threads=" << options.threads << " chunk_size=" << options.chunk_size;
}

}  // namespace recordpipe
