// Collators define how Dataset::batch combines elements into batches.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/element.h"

namespace recordpipe {

// A collator combines elements into a batch. reset() prepares a batch with `rows` rows and may
// reuse the batch's memory. set() writes one row; it is called concurrently for different rows.
// Optional members:
//   finish(batch)         called once after all rows were set without errors: for batches whose
//                         row positions depend on the sizes of all rows;
//   set(batch, row, element, next)   called if the element of the next row is known, so that its
//                         input can be prefetched into the CPU cache;
//   parameters()          returns the parameters as std::vector<Parameter>. They are part of the
//                         plan, so saved states and caches with other parameters are rejected;
//   name()                returns the operator's name in the plan (default: "batch").
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

// The default collator: collects the elements in a vector.
template <Element T>
struct VectorCollator {
  using Batch = std::vector<T>;
  void reset(Batch& batch, size_t rows) const { batch.resize(rows); }
  void set(Batch& batch, size_t row, T&& element) const { batch[row] = std::move(element); }
};

}  // namespace recordpipe
