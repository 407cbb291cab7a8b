// The naive twins of operators that combine several datasets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/pipeline/naive/elements.h"

namespace recordpipe::naive {

template <class T>
class CombiningOperators {
 public:
  // function: T -> Pipeline<U>
  template <class F>
  auto interleave(F function, size_t cycle_length, size_t block_length) const {
    using U = typename std::decay_t<std::invoke_result_t<F, T>>::value_type;
    return self(this).template derived<U>([=](Elements<T> in, const At& at) {
      struct Open {
        std::vector<Item<U>> items;
        size_t next = 0;
      };
      std::vector<std::optional<Open>> cycle(cycle_length);
      Elements<U> out;
      size_t next_input = 0, open = 0;
      for (size_t turn = 0; next_input < in.items.size() || open > 0 || !in.error.empty();
           turn = (turn + 1) % cycle_length) {
        while (!cycle[turn] && next_input < in.items.size()) {
          const Item<T>& input = in.items[next_input++];
          const ElementId failure_id = child_id(input.id, kEndOfSource);
          if (!input.error.empty()) {
            out.items.push_back({failure_id, {}, input.error});
            continue;
          }
          Elements<U> elements =
              function(input.value).pass()({child_id(input.id, 0).epoch, at.errors_are_skipped});
          for (Item<U>& item : elements.items) {
            item.id.epoch = derive_key(item.id.epoch, 0x696E707574);
          }
          if (!elements.error.empty()) elements.items.push_back({failure_id, {}, elements.error});
          cycle[turn] = Open{std::move(elements.items)};
          ++open;
        }
        if (!cycle[turn] && !in.error.empty()) {
          out.error = in.error;
          break;
        }
        if (!cycle[turn]) continue;
        auto& [items, next] = *cycle[turn];
        size_t taken = 0;
        for (; taken < block_length && next < items.size(); ++taken) {
          out.items.push_back(std::move(items[next++]));
        }
        if (taken == block_length) continue;
        cycle[turn].reset();  // the end is detected by requesting one more element
        --open;
      }
      return out;
    });
  }

  Pipeline<T> concatenate(const Pipeline<T>& next) const {
    return Pipeline<T>(
        [first = self(this).pass(), second = next.pass()](const At& at) {
          Elements<T> out = first(at.input(0));
          if (out.error.empty()) out.append(second(at.input(1)));
          return out;
        },
        std::max(self(this).random_operators(), next.random_operators()));
  }

  template <class U>
  auto zip(const Pipeline<U>& other) const {
    using Pair = std::tuple<T, U>;
    return Pipeline<Pair>(
        [first = self(this).pass(), second = other.pass()](const At& at) {
          const Elements<T> a = first(at.input(0));
          const Elements<U> b = second(at.input(1));
          const size_t size = std::min(a.items.size(), b.items.size());
          Elements<Pair> out{.error = a.items.size() == size ? a.error : b.error};
          for (size_t i = 0; i < size; ++i) {
            const Item<T>& x = a.items[i];
            const Item<U>& y = b.items[i];
            const bool is_end = ends_source(x.id) || ends_source(y.id);
            out.items.push_back({{at.ids, is_end ? kEndOfSource : i},
                                 {x.value, y.value},
                                 x.error.empty() ? y.error : x.error});
          }
          return out;
        },
        std::max(self(this).random_operators(), other.random_operators()));
  }

  // `weights` are those of this pipeline and of `other`, as parts of 2^62.
  Pipeline<T> sample(const Pipeline<T>& other, std::array<uint64_t, 2> weights, uint64_t seed,
                     bool stop_on_empty) const {
    const uint64_t operators = std::max(self(this).random_operators(), other.random_operators());
    const uint64_t key = order_key(seed);
    return Pipeline<T>(
        [=, passes = std::array{self(this).pass(), other.pass()}](const At& at) {
          std::array<Elements<T>, 2> inputs;
          for (size_t i = 0; i < 2; ++i) inputs[i] = passes[i](at.input(i));
          std::array<size_t, 2> next{};
          std::array<uint64_t, 2> left = weights;
          Elements<T> out;
          for (uint64_t draw = 0; left[0] + left[1] > 0; ++draw) {
            Random random(key, at.order, draw);
            const size_t input = random.below64(left[0] + left[1]) < left[0] ? 0 : 1;
            if (next[input] < inputs[input].items.size()) {
              out.items.push_back(inputs[input].items[next[input]++]);
            } else if (stop_on_empty || !inputs[input].error.empty()) {
              out.error = inputs[input].error;
              break;
            } else {
              left[input] = 0;
            }
          }
          return out;
        },
        operators + 1);
  }

  // choices: Pipeline<int64_t>
  template <class Choices>
  Pipeline<T> choose(const Pipeline<T>& other, const Choices& choices, bool stop_on_empty) const {
    return Pipeline<T>(
        [=, passes = std::array{self(this).pass(), other.pass()}](const At& at) {
          std::array<Elements<T>, 2> inputs;
          for (size_t i = 0; i < 2; ++i) inputs[i] = passes[i](at.input(i));
          const Elements<int64_t> choice = choices.pass()(at.input(2));
          std::array<size_t, 2> next{};
          std::array<bool, 2> ended{};
          Elements<T> out{.error = choice.error};
          for (const Item<int64_t>& chosen : choice.items) {
            std::string error = chosen.error;
            if (error.empty() && (chosen.value < 0 || chosen.value > 1)) {
              error =
                  "choose_from_datasets: index " + std::to_string(chosen.value) + " of 2 datasets";
            }
            if (!error.empty()) {
              out.items.push_back({chosen.id, {}, error});
              continue;
            }
            const auto input = static_cast<size_t>(chosen.value);
            if (next[input] < inputs[input].items.size()) {
              out.items.push_back(inputs[input].items[next[input]++]);
              continue;
            }
            ended[input] = true;
            if (stop_on_empty || !inputs[input].error.empty() || (ended[0] && ended[1])) {
              out.error = inputs[input].error;
              break;
            }
          }
          return out;
        },
        std::max(
            {self(this).random_operators(), other.random_operators(), choices.random_operators()}));
  }
};

}  // namespace recordpipe::naive
