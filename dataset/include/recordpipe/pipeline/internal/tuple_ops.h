// Type-erased operations on pairs and tuples of elements (enumerate, zip), in addition to
// element_ops.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "recordpipe/pipeline/internal/element_ops.h"

namespace recordpipe::internal {

// The elements of enumerate: pairs of a number and an element.
struct PairOps {
  const ElementOps& pair;
  void (*set_number)(void* pair, int64_t number);
  void* (*element)(void* pair);
};
template <Element T>
const PairOps& pair_ops() {
  using Pair = std::pair<int64_t, T>;
  static const PairOps ops{
      element_ops<Pair>(),
      [](void* pair, int64_t number) { static_cast<Pair*>(pair)->first = number; },
      [](void* pair) -> void* { return &static_cast<Pair*>(pair)->second; }};
  return ops;
}

// The elements of zip: tuples.
struct TupleOps {
  const ElementOps& tuple;
  void* (*member)(void* tuple, size_t index);
};
template <Element... Ts>
const TupleOps& tuple_ops() {
  using Tuple = std::tuple<Ts...>;
  static const TupleOps ops{element_ops<Tuple>(), [](void* tuple, size_t index) {
                              return std::apply(
                                  [index](Ts&... members) {
                                    void* const all[] = {&members...};
                                    return all[index];
                                  },
                                  *static_cast<Tuple*>(tuple));
                            }};
  return ops;
}

}  // namespace recordpipe::internal
