// The plain twin of the pipeline: one thread, whole vectors, nothing clever. What the operators
// mean, written down a second time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "dataset/base/permutation.h"
#include "dataset/base/philox.h"
#include "dataset/pipeline/stage.h"

namespace recordpipe::naive {

template <class T>
struct Item {
  ElementId id;
  T value;
};

// A pass over a pipeline: all its elements in epoch `epoch`.
template <class T>
using Pass = std::function<std::vector<Item<T>>(uint64_t epoch)>;

template <class T>
class Pipeline {
 public:
  using value_type = T;

  explicit Pipeline(Pass<T> pass, uint64_t random_operators = 0)
      : pass_(std::move(pass)), random_operators_(random_operators) {}

  template <class F>
  auto map(F function) const {
    using U = std::decay_t<std::invoke_result_t<F, T>>;
    return Pipeline<U>(
        [=, pass = pass_](uint64_t epoch) {
          std::vector<Item<U>> out;
          for (const Item<T>& item : pass(epoch)) out.push_back({item.id, function(item.value)});
          return out;
        },
        random_operators_);
  }

  template <class F>
  auto map_with_random(uint64_t seed, F function) const {
    using U = std::decay_t<std::invoke_result_t<F, T, Random&>>;
    const uint64_t key = derive_key(seed, random_operators_);
    return Pipeline<U>(
        [=, pass = pass_](uint64_t epoch) {
          std::vector<Item<U>> out;
          for (const Item<T>& item : pass(epoch)) {
            Random random(key, item.id.epoch, item.id.index);
            out.push_back({item.id, function(item.value, random)});
          }
          return out;
        },
        random_operators_ + 1);
  }

  template <class P>
  Pipeline filter(P predicate) const {
    return derived([=](std::vector<Item<T>> items, uint64_t) {
      std::erase_if(items, [&](const Item<T>& item) { return !predicate(item.value); });
      return items;
    });
  }

  template <class F>
  auto flat_map(F function) const {
    using U = typename std::decay_t<std::invoke_result_t<F, T>>::value_type;
    return Pipeline<U>(
        [=, pass = pass_](uint64_t epoch) {
          std::vector<Item<U>> out;
          for (const Item<T>& item : pass(epoch)) {
            uint64_t place = 0;
            for (U& value : function(item.value)) {
              out.push_back({child_id(item.id, place++), std::move(value)});
            }
          }
          return out;
        },
        random_operators_);
  }

  // function: T -> Pipeline<U>
  template <class F>
  auto interleave(F function, size_t cycle_length, size_t block_length) const {
    using U = typename std::decay_t<std::invoke_result_t<F, T>>::value_type;
    return Pipeline<U>(
        [=, pass = pass_](uint64_t epoch) {
          std::vector<std::vector<Item<U>>> inputs;
          for (const Item<T>& item : pass(epoch)) {
            inputs.push_back(function(item.value).pass(child_id(item.id, 0).epoch));
          }
          struct Open {
            size_t input, next;
          };
          std::vector<std::optional<Open>> cycle(cycle_length);
          std::vector<Item<U>> out;
          size_t next_input = 0, open = 0;
          for (size_t turn = 0; next_input < inputs.size() || open > 0;
               turn = (turn + 1) % cycle_length) {
            if (!cycle[turn] && next_input < inputs.size()) {
              cycle[turn] = Open{next_input++, 0};
              ++open;
            }
            if (!cycle[turn]) continue;
            auto& [input, next] = *cycle[turn];
            size_t taken = 0;
            for (; taken < block_length && next < inputs[input].size(); ++taken) {
              Item<U>& item = inputs[input][next++];
              item.id.epoch = derive_key(item.id.epoch, 0x696E707574);
              out.push_back(std::move(item));
            }
            if (taken == block_length) continue;
            cycle[turn].reset();  // its end is seen by asking for one more
            --open;
          }
          return out;
        },
        random_operators_);
  }

  // function: (State, T) -> pair of State and U
  template <class State, class F>
  auto scan(State initial, F function) const {
    using U = typename std::invoke_result_t<F, State, T>::second_type;
    return Pipeline<U>(
        [=, pass = pass_](uint64_t epoch) {
          std::vector<Item<U>> out;
          State state = initial;
          for (const Item<T>& item : pass(epoch)) {
            auto [next, value] = function(state, item.value);
            state = next;
            out.push_back({item.id, value});
          }
          return out;
        },
        random_operators_);
  }

  Pipeline<std::vector<T>> window(size_t size, size_t shift, bool drop_remainder = false) const {
    return Pipeline<std::vector<T>>(
        [=, pass = pass_](uint64_t epoch) {
          const std::vector<Item<T>> items = pass(epoch);
          std::vector<Item<std::vector<T>>> out;
          for (size_t first = 0; first < items.size(); first += shift) {
            Item<std::vector<T>> window{{epoch, out.size()}, {}};
            for (size_t i = first; i < items.size() && i < first + size; ++i) {
              window.value.push_back(items[i].value);
            }
            if (!drop_remainder || window.value.size() == size) out.push_back(std::move(window));
          }
          return out;
        },
        random_operators_);
  }

  Pipeline cache() const {
    return Pipeline(
        [pass = pass_](uint64_t epoch) {
          std::vector<Item<T>> items = pass(0);
          for (Item<T>& item : items) item.id.epoch = nested_epoch(epoch, item.id.epoch);
          return items;
        },
        random_operators_);
  }

  auto unbatch() const {
    return flat_map([](const T& values) { return values; });
  }

  Pipeline shuffle(size_t buffer_size, uint64_t seed) const {
    const uint64_t key = derive_key(seed, random_operators_);
    Pipeline shuffled = derived([=](std::vector<Item<T>> items, uint64_t epoch) {
      std::vector<Item<T>> buffer, out;
      size_t next = 0;
      while (next < items.size() && buffer.size() < buffer_size) buffer.push_back(items[next++]);
      for (uint64_t k = 0; !buffer.empty(); ++k) {
        const uint32_t at = Random(key, epoch, k).below(static_cast<uint32_t>(buffer.size()));
        out.push_back(buffer[at]);
        if (next < items.size()) {
          buffer[at] = items[next++];
        } else {
          buffer[at] = buffer.back();
          buffer.pop_back();
        }
      }
      return out;
    });
    ++shuffled.random_operators_;
    return shuffled;
  }

  Pipeline concatenate(const Pipeline& next) const {
    return Pipeline(
        [first = pass_, second = next.pass_](uint64_t epoch) {
          std::vector<Item<T>> out = first(input_epoch(epoch, 0));
          for (Item<T>& item : second(input_epoch(epoch, 1))) out.push_back(std::move(item));
          return out;
        },
        std::max(random_operators_, next.random_operators_));
  }

  template <class U>
  auto zip(const Pipeline<U>& other) const {
    using Pair = std::tuple<T, U>;
    return Pipeline<Pair>(
        [first = pass_, second = other.pass()](uint64_t epoch) {
          const auto a = first(input_epoch(epoch, 0));
          const auto b = second(input_epoch(epoch, 1));
          std::vector<Item<Pair>> out;
          for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
            out.push_back({{epoch, i}, {a[i].value, b[i].value}});
          }
          return out;
        },
        std::max(random_operators_, other.random_operators()));
  }

  // With `other`, as parts of 2^62.
  Pipeline sample(const Pipeline& other, std::array<uint64_t, 2> weights, uint64_t seed,
                  bool stop_on_empty) const {
    const uint64_t operators = std::max(random_operators_, other.random_operators_);
    const uint64_t key = derive_key(seed, operators);
    return Pipeline(
        [=, passes = std::array{pass_, other.pass_}](uint64_t epoch) {
          std::array<std::vector<Item<T>>, 2> inputs;
          for (size_t i = 0; i < 2; ++i) inputs[i] = passes[i](input_epoch(epoch, i));
          std::array<size_t, 2> at{};
          std::array<uint64_t, 2> left = weights;
          std::vector<Item<T>> out;
          for (uint64_t draw = 0; left[0] + left[1] > 0; ++draw) {
            Random random(key, epoch, draw);
            const size_t input = random.below64(left[0] + left[1]) < left[0] ? 0 : 1;
            if (at[input] < inputs[input].size()) {
              out.push_back(inputs[input][at[input]++]);
            } else if (stop_on_empty) {
              break;
            } else {
              left[input] = 0;
            }
          }
          return out;
        },
        operators + 1);
  }

  Pipeline shard(size_t num_shards, size_t index, bool drop_remainder = false) const {
    return derived([=](std::vector<Item<T>> items, uint64_t) {
      if (drop_remainder) items.resize(items.size() / num_shards * num_shards);
      std::vector<Item<T>> out;
      for (size_t i = index; i < items.size(); i += num_shards) out.push_back(items[i]);
      return out;
    });
  }

  const Pass<T>& pass() const { return pass_; }
  uint64_t random_operators() const { return random_operators_; }

  Pipeline global_shuffle(uint64_t seed) const {
    const uint64_t key = derive_key(seed, random_operators_);
    Pipeline shuffled = derived([=](std::vector<Item<T>> items, uint64_t epoch) {
      const Permutation order(items.size(), derive_key(key, epoch));
      std::vector<Item<T>> out;
      for (size_t i = 0; i < items.size(); ++i) out.push_back(items[order(i)]);
      return out;
    });
    ++shuffled.random_operators_;
    return shuffled;
  }

  auto enumerate(int64_t start = 0) const {
    using Pair = std::pair<int64_t, T>;
    return Pipeline<Pair>(
        [=, pass = pass_](uint64_t epoch) {
          std::vector<Item<Pair>> out;
          int64_t number = start;
          for (Item<T>& item : pass(epoch)) {
            out.push_back({item.id, {number++, std::move(item.value)}});
          }
          return out;
        },
        random_operators_);
  }

  Pipeline repeat(uint64_t count) const {
    return Pipeline(
        [=, pass = pass_](uint64_t outer) {
          std::vector<Item<T>> out;
          for (uint64_t i = 0; i < count; ++i) {
            const uint64_t epoch = outer == 0 ? i : derive_key(outer, i);
            for (Item<T>& item : pass(epoch)) out.push_back(std::move(item));
          }
          return out;
        },
        random_operators_);
  }

  Pipeline take(size_t count) const {
    return derived([=](std::vector<Item<T>> items, uint64_t) {
      items.resize(std::min(items.size(), count));
      return items;
    });
  }

  Pipeline skip(size_t count) const {
    return derived([=](std::vector<Item<T>> items, uint64_t) {
      items.erase(items.begin(),
                  items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), count)));
      return items;
    });
  }

  Pipeline<std::vector<T>> batch(size_t batch_size, bool drop_remainder = false) const {
    return Pipeline<std::vector<T>>(
        [=, pass = pass_](uint64_t epoch) {
          std::vector<Item<std::vector<T>>> out;
          for (const Item<T>& item : pass(epoch)) {
            if (out.empty() || out.back().value.size() == batch_size) {
              out.push_back({{epoch, out.size()}, {}});
            }
            out.back().value.push_back(item.value);
          }
          if (drop_remainder && !out.empty() && out.back().value.size() < batch_size) {
            out.pop_back();
          }
          return out;
        },
        random_operators_);
  }

  std::vector<Item<T>> pass(uint64_t epoch) const { return pass_(epoch); }

  std::vector<T> values() const {
    std::vector<T> out;
    for (Item<T>& item : pass_(0)) out.push_back(std::move(item.value));
    return out;
  }

 private:
  template <class F>
  Pipeline derived(F change) const {
    return Pipeline([=, pass = pass_](uint64_t epoch) { return change(pass(epoch), epoch); },
                    random_operators_);
  }

  Pass<T> pass_;
  uint64_t random_operators_;
};

template <class T>
Pipeline<T> from_vector(std::vector<T> values) {
  return Pipeline<T>([values = std::move(values)](uint64_t epoch) {
    std::vector<Item<T>> out;
    for (size_t i = 0; i < values.size(); ++i) out.push_back({{epoch, i}, values[i]});
    return out;
  });
}

}  // namespace recordpipe::naive
