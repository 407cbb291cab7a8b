// Implements the semantics of all operators a second time, naively. Tests compare each pipeline
// with this twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/pipeline/naive/combining.h"
#include "tests/pipeline/naive/elements.h"
#include "tests/pipeline/naive/functions.h"
#include "tests/pipeline/naive/grouping.h"
#include "tests/pipeline/naive/order.h"

namespace recordpipe::naive {

template <class T>
class Pipeline : public CombiningOperators<T>,
                 public FunctionOperators<T>,
                 public GroupingOperators<T>,
                 public OrderOperators<T> {
 public:
  using value_type = T;

  explicit Pipeline(Pass<T> pass, uint64_t random_operators = 0)
      : pass_(std::move(pass)), random_operators_(random_operators) {}

  const Pass<T>& pass() const { return pass_; }
  Elements<T> pass(uint64_t epoch) const { return pass_(epoch); }
  uint64_t random_operators() const { return random_operators_; }

  // Returns all elements; throws if there is an error.
  std::vector<T> values() const {
    Elements<T> elements = pass_(0);
    std::vector<T> out;
    for (Item<T>& item : elements.items) {
      if (!item.error.empty()) throw std::runtime_error(item.error);
      out.push_back(std::move(item.value));
    }
    if (!elements.error.empty()) throw std::runtime_error(elements.error);
    return out;
  }

  // change: (Elements<T>, const At&) -> Elements<U>
  template <class U, class F>
  Pipeline<U> derived(F change, uint64_t more_random_operators = 0) const {
    return Pipeline<U>([=, pass = pass_](const At& at) { return change(pass(at), at); },
                       random_operators_ + more_random_operators);
  }

 private:
  Pass<T> pass_;
  uint64_t random_operators_;
};

// Yields `values`, then ends with `error` unless it is empty.
template <class T>
Pipeline<T> from_vector(std::vector<T> values, std::string error = {}) {
  return Pipeline<T>([values = std::move(values), error = std::move(error)](const At& at) {
    Elements<T> out{.error = error};
    for (size_t i = 0; i < values.size(); ++i) out.items.push_back({{at.ids, i}, values[i]});
    return out;
  });
}

}  // namespace recordpipe::naive
