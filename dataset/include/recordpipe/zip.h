// zip: the first elements of several datasets together, then the second ones, and so on.
#pragma once

#include <tuple>

#include "recordpipe/dataset.h"

namespace recordpipe {

// Tuples of an element of each dataset, at least one, in order, as long as all of them have one;
// with the options and the epoch of the first. Random numbers drawn upstream differ between inputs,
// also where they read the same source. An element that fails in an input fails here. With random
// access where all inputs have it.
template <Element T, Element... Ts>
Dataset<std::tuple<T, Ts...>> zip(const Dataset<T>& first, const Dataset<Ts>&... others) {
  return first.template with<std::tuple<T, Ts...>>(
      internal::zip({first.node(), others.node()...}, internal::tuple_ops<T, Ts...>()));
}

}  // namespace recordpipe
