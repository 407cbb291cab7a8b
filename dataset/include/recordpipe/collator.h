// What batch puts elements together with.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/element.h"

namespace recordpipe {

// A collator makes a batch of elements. reset() makes a batch `rows` long and may reuse its memory;
// set() writes one row, from several threads at once, each another row. A collator may also have
//   finish(batch)         called once when all rows are set and none of them threw: for batches
//                         whose rows have no place before the sizes of all are known;
//   set(batch, row, element, next)   where the next row's element is known: to have the processor
//                         fetch meanwhile what that one will read;
//   parameters()          what it was given, as std::vector<Parameter>: a part of the plan, by
//                         which saved states and caches tell it from another;
//   name()                in the plan, instead of "batch".
template <class C, class T>
concept CollatorOf = Element<typename C::Batch> &&
    requires(const C& collator, typename C::Batch& batch, size_t n, T& element) {
  collator.reset(batch, n);
  collator.set(batch, n, std::move(element));
};

template <class C>
concept FinishingCollator = requires(const C& collator, typename C::Batch& batch) {
  collator.finish(batch);
};

template <class C, class T>
concept ForesightedCollator = requires(const C& collator, typename C::Batch& batch, size_t n,
                                       T& element, const T& next) {
  collator.set(batch, n, std::move(element), next);
};

template <class C>
concept NamedCollator = requires(const C& collator) {
  { collator.name() } -> std::convertible_to<std::string>;
};

// The default: a vector of the elements.
template <Element T>
struct VectorCollator {
  using Batch = std::vector<T>;
  void reset(Batch& batch, size_t rows) const { batch.resize(rows); }
  void set(Batch& batch, size_t row, T&& element) const { batch[row] = std::move(element); }
};

}  // namespace recordpipe
