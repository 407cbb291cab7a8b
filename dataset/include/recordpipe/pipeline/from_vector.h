// from_vector: a source of elements in memory.
#pragma once

#include <concepts>
#include <memory>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

// Yields the elements of `values` in order. All copies of the Dataset share the vector. Supports
// random access.
template <Element T>
requires std::copyable<T> Dataset<T> from_vector(std::vector<T> values) {
  std::vector<Parameter> parameters{{"elements", values.size()}};
  using Values = internal::Indexed<T, std::vector<T>>;
  return internal::DatasetNode::source<T>(internal::indexed(
      "from_vector", std::move(parameters), std::make_shared<const Values>(std::move(values)),
      internal::element_ops<T>()));
}

}  // namespace recordpipe
