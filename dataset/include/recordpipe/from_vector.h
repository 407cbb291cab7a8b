// from_vector: elements that are in memory.
#pragma once

#include <concepts>
#include <memory>
#include <utility>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/internal/operators/indexed_source.h"

namespace recordpipe {

// The elements of `values`, in order; the vector is shared by all copies of the Dataset.
template <Element T>
requires std::copyable<T> Dataset<T> from_vector(std::vector<T> values) {
  std::vector<PlanParameter> parameters{{"elements", values.size()}};
  return Dataset<T>(std::make_shared<IndexedNode<T, std::vector<T>>>(
      "from_vector", std::move(parameters), std::move(values)));
}

}  // namespace recordpipe
