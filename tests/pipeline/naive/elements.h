// What the naive twins of all operators share: one thread, whole vectors, no optimisation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/epoch.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::naive {

using internal::child_id;
using internal::ElementId;
using internal::ends_source;
using internal::Epoch;
using internal::input_epoch;
using internal::kEndOfSource;
using internal::nested_epoch;
using internal::order_key;

// An element; or, if `error` isn't empty, the error that is thrown in its place.
template <class T>
struct Item {
  ElementId id;
  T value{};
  std::string error = {};
};

// The elements of one pass, and the error that ends it, if any.
template <class T>
struct Elements {
  std::vector<Item<T>> items = {};
  std::string error = {};

  void append(Elements next) {
    for (Item<T>& item : next.items) items.push_back(std::move(item));
    error = std::move(next.error);
  }
};

// The epoch of a pass, and whether an ignore_errors follows.
struct At : Epoch {
  At(Epoch epoch, bool skipped = false) : Epoch(epoch), errors_are_skipped(skipped) {}
  At(uint64_t epoch) : Epoch(epoch) {}
  At input(uint64_t i) const { return {input_epoch(*this, i), errors_are_skipped}; }

  bool errors_are_skipped = false;
};

template <class T>
using Pass = std::function<Elements<T>(const At& at)>;

template <class T>
class Pipeline;

// The Pipeline that has the operators of this kind.
template <class T, template <class> class Operators>
const Pipeline<T>& self(const Operators<T>* operators) {
  return static_cast<const Pipeline<T>&>(*operators);
}

// For operators that leave out elements: whether this one stands for a lost source.
template <class T>
bool must_be_yielded(const Item<T>& item, const At& at) {
  return ends_source(item.id) && !at.errors_are_skipped;
}

}  // namespace recordpipe::naive
