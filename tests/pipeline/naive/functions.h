// The naive twins of operators that call a function for each element, or change it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/pipeline/naive/elements.h"

namespace recordpipe::naive {

template <class T>
class FunctionOperators {
 public:
  template <class F>
  auto map(F function) const {
    using U = std::decay_t<std::invoke_result_t<F, T>>;
    return each<U>([=](const Item<T>& item) { return function(item.value); });
  }

  template <class F>
  auto map_with_random(uint64_t seed, F function) const {
    using U = std::decay_t<std::invoke_result_t<F, T, Random&>>;
    const uint64_t key = derive_key(seed, self(this).random_operators());
    return each<U>(
        [=](const Item<T>& item) {
          Random random(key, item.id.epoch, item.id.index);
          return function(item.value, random);
        },
        1);
  }

  template <class P>
  Pipeline<T> filter(P predicate) const {
    return self(this).template derived<T>([=](Elements<T> in, const At&) {
      std::erase_if(in.items,
                    [&](const auto& item) { return item.error.empty() && !predicate(item.value); });
      return in;
    });
  }

  Pipeline<T> ignore_errors() const {
    return Pipeline<T>(
        [pass = self(this).pass()](const At& at) {
          Elements<T> in = pass({at, true});
          std::erase_if(in.items, [](const Item<T>& item) { return !item.error.empty(); });
          return in;
        },
        self(this).random_operators());
  }

  template <class F>
  auto flat_map(F function) const {
    using U = typename std::decay_t<std::invoke_result_t<F, T>>::value_type;
    return map(function).template derived<U>([](Elements<std::vector<U>> in, const At&) {
      Elements<U> out{.error = in.error};
      for (Item<std::vector<U>>& item : in.items) {
        if (!item.error.empty()) {
          out.items.push_back({child_id(item.id, kEndOfSource), {}, item.error});
        }
        uint64_t place = 0;
        for (U& value : item.value) {
          out.items.push_back({child_id(item.id, place++), std::move(value)});
        }
      }
      return out;
    });
  }

  auto unbatch() const {
    return flat_map([](const T& values) { return values; });
  }

  // function: (State, T) -> pair of State and U
  template <class State, class F>
  auto scan(State initial, F function) const {
    using U = typename std::invoke_result_t<F, State, T>::second_type;
    return self(this).template derived<U>([=](Elements<T> in, const At&) {
      Elements<U> out{.error = in.error};
      State state = initial;
      for (const Item<T>& item : in.items) {
        out.items.push_back({item.id, {}, item.error});
        if (!item.error.empty()) continue;
        auto [next, value] = function(state, item.value);
        state = next;
        out.items.back().value = value;
      }
      return out;
    });
  }

  auto enumerate(int64_t start = 0) const {
    using Pair = std::pair<int64_t, T>;
    return self(this).template derived<Pair>([=](Elements<T> in, const At&) {
      Elements<Pair> out{.error = in.error};
      int64_t number = start;
      for (Item<T>& item : in.items) {
        out.items.push_back({item.id, {number++, std::move(item.value)}, item.error});
      }
      return out;
    });
  }

 private:
  // function: Item<T> -> U; may throw
  template <class U, class F>
  Pipeline<U> each(F function, uint64_t more_random_operators = 0) const {
    return self(this).template derived<U>(
        [=](const Elements<T>& in, const At&) {
          Elements<U> out{.error = in.error};
          for (const Item<T>& item : in.items) {
            out.items.push_back({item.id, {}, item.error});
            if (!item.error.empty()) continue;
            try {
              out.items.back().value = function(item);
            } catch (const std::exception& error) {
              out.items.back().error = error.what();
            }
          }
          return out;
        },
        more_random_operators);
  }
};

}  // namespace recordpipe::naive
