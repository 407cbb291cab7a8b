// zip: combines the elements of several datasets position by position.
#pragma once

#include <tuple>

#include "recordpipe/dataset.h"

namespace recordpipe {

// Tuples with one element of each dataset (at least one), in order, until the shortest dataset
// ends. Takes options and epoch of the first dataset. Upstream random numbers differ between
// inputs, even if they read the same source. If an input's element fails, the tuple fails. Supports
// random access if all inputs do.
template <Element T, Element... Ts>
Dataset<std::tuple<T, Ts...>> zip(const Dataset<T>& first, const Dataset<Ts>&... others) {
  return first.template with<std::tuple<T, Ts...>>(
      internal::zip({first.node(), others.node()...}, internal::tuple_ops<T, Ts...>()));
}

}  // namespace recordpipe
