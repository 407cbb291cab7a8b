// What batch puts elements together with.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/plan_description.h"
#include "recordpipe/internal/engine/stage.h"

namespace recordpipe {

// How elements are put together to a batch. reset() makes a batch `rows` long and may keep its
// memory; set() fills one row, from several threads at once, each with another row. A collator may
// also have finish(batch), called once when all rows are set and none of them threw: for batches
// whose rows have no place before the sizes of all are known.
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

// One that wants to know, while it sets a row, which one comes next, where it is known: to have the
// processor fetch meanwhile what that one will read.
template <class C, class T>
concept ForesightedCollator = requires(const C& collator, typename C::Batch& batch, size_t n,
                                       T& element, const T& next) {
  collator.set(batch, n, std::move(element), next);
};

// One that has a name of its own in the plan, and parameters beside batch's.
template <class C>
concept DescribedCollator = requires(const C& collator) {
  { collator.describe() } -> std::same_as<PlanDescription>;
};

// The default: a vector of the elements.
template <Element T>
struct VectorCollator {
  using Batch = std::vector<T>;
  void reset(Batch& batch, size_t rows) const { batch.resize(rows); }
  void set(Batch& batch, size_t row, T&& element) const { batch[row] = std::move(element); }
};

}  // namespace recordpipe
