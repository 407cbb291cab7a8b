// zip: combines the elements of several datasets position by position.
#pragma once

#include <tuple>

#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

// Yields tuples with one element of each dataset (at least one dataset), in order, until the
// shortest dataset ends. Takes the options and the epoch of the first dataset. Upstream random
// numbers differ between inputs, even if the inputs read the same source. If an input's element
// fails, the tuple fails. Supports random access if all inputs do.
template <Element T, Element... Ts>
Dataset<std::tuple<T, Ts...>> zip(const Dataset<T>& first, const Dataset<Ts>&... others) {
  return internal::DatasetNode::with<std::tuple<T, Ts...>>(
      first, internal::zip({internal::DatasetNode::of(first), internal::DatasetNode::of(others)...},
                           internal::tuple_ops<T, Ts...>()));
}

}  // namespace recordpipe
