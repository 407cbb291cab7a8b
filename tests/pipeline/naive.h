// Implements the semantics of all operators a second time, naively: one thread, whole vectors, no
// optimisation. Tests compare each pipeline with this twin.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/epoch.h"
#include "recordpipe/base/internal/permutation.h"
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
class Pipeline {
 public:
  using value_type = T;

  explicit Pipeline(Pass<T> pass, uint64_t random_operators = 0)
      : pass_(std::move(pass)), random_operators_(random_operators) {}

  template <class F>
  auto map(F function) const {
    using U = std::decay_t<std::invoke_result_t<F, T>>;
    return each<U>([=](const Item<T>& item) { return function(item.value); });
  }

  template <class F>
  auto map_with_random(uint64_t seed, F function) const {
    using U = std::decay_t<std::invoke_result_t<F, T, Random&>>;
    const uint64_t key = derive_key(seed, random_operators_);
    return each<U>(
        [=](const Item<T>& item) {
          Random random(key, item.id.epoch, item.id.index);
          return function(item.value, random);
        },
        1);
  }

  template <class P>
  Pipeline filter(P predicate) const {
    return derived<T>([=](Elements<T> in, const At&) {
      std::erase_if(in.items,
                    [&](const auto& item) { return item.error.empty() && !predicate(item.value); });
      return in;
    });
  }

  Pipeline ignore_errors() const {
    return Pipeline(
        [pass = pass_](const At& at) {
          Elements<T> in = pass({at, true});
          std::erase_if(in.items, [](const Item<T>& item) { return !item.error.empty(); });
          return in;
        },
        random_operators_);
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

  // function: T -> Pipeline<U>
  template <class F>
  auto interleave(F function, size_t cycle_length, size_t block_length) const {
    using U = typename std::decay_t<std::invoke_result_t<F, T>>::value_type;
    return derived<U>([=](Elements<T> in, const At& at) {
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

  // function: (State, T) -> pair of State and U
  template <class State, class F>
  auto scan(State initial, F function) const {
    using U = typename std::invoke_result_t<F, State, T>::second_type;
    return derived<U>([=](Elements<T> in, const At&) {
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

  Pipeline<std::vector<T>> window(size_t size, size_t shift, bool drop_remainder = false) const {
    return grouped(size, shift, drop_remainder, false);
  }

  // length: T -> size_t
  template <class F>
  Pipeline<std::vector<T>> bucket_by_sequence_length(F length, std::vector<size_t> boundaries,
                                                     std::vector<size_t> batch_sizes,
                                                     bool drop_remainder) const {
    return derived<std::vector<T>>([=](Elements<T> in, const At& at) {
      Elements<std::vector<T>> out{.error = in.error};
      std::vector<Elements<T>> buckets(batch_sizes.size());
      const auto yield = [&](Elements<T>& from) {
        out.items.push_back(together({at.ids, out.items.size()}, from, 0, from.items.size()));
        keep_end(out.items.back(), from, 0, from.items.size());
        from.items.clear();
      };
      for (const Item<T>& item : in.items) {
        if (!item.error.empty()) {
          Elements<T> alone{{item}};
          yield(alone);
          continue;
        }
        size_t bucket = 0;
        while (bucket < boundaries.size() && length(item.value) >= boundaries[bucket]) ++bucket;
        buckets[bucket].items.push_back(item);
        if (buckets[bucket].items.size() == batch_sizes[bucket]) yield(buckets[bucket]);
      }
      for (Elements<T>& bucket : buckets) {
        if (!bucket.items.empty() && !drop_remainder && in.error.empty()) yield(bucket);
      }
      return out;
    });
  }

  // Yields the sequences of each row. size: T -> size_t
  template <class F>
  Pipeline<std::vector<T>> pack_sequences(F size, size_t length, size_t open_rows,
                                          bool truncate) const {
    return derived<std::vector<T>>([=](Elements<T> in, const At& at) {
      struct Row {
        Elements<T> sequences;
        size_t used = 0;
      };
      Elements<std::vector<T>> out{.error = in.error};
      std::vector<Row> rows;
      const auto yield = [&](const Elements<T>& row) {
        out.items.push_back(together({at.ids, out.items.size()}, row, 0, row.items.size()));
        keep_end(out.items.back(), row, 0, row.items.size());
      };
      for (Item<T>& item : in.items) {
        const size_t values = item.error.empty() ? size(item.value) : 0;
        if (values > length && !truncate) {
          item.error = "pack_sequences: a sequence of " + std::to_string(values) +
                       " values, where at most " + std::to_string(length) + " fit";
        }
        if (!item.error.empty()) {
          yield({{item}});
          continue;
        }
        const size_t taken = std::min(values, length);
        size_t place = 0;
        while (place < rows.size() && rows[place].used + taken > length) ++place;
        if (place == rows.size()) {
          if (rows.size() == open_rows) {
            yield(rows.front().sequences);
            rows.erase(rows.begin());
          }
          rows.emplace_back();
          place = rows.size() - 1;
        }
        rows[place].sequences.items.push_back(item);
        rows[place].used += taken;
        if (rows[place].used == length) {
          yield(rows[place].sequences);
          rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(place));
        }
      }
      for (const Row& row : rows) {
        if (in.error.empty()) yield(row.sequences);
      }
      return out;
    });
  }

  Pipeline<std::vector<T>> batch(size_t batch_size, bool drop_remainder = false) const {
    return grouped(batch_size, batch_size, drop_remainder, true);
  }

  Pipeline cache() const {
    return Pipeline(
        [pass = pass_](const At& at) {
          Elements<T> elements = pass({0, at.errors_are_skipped});
          for (Item<T>& item : elements.items) {
            item.id.epoch = nested_epoch(at.ids, item.id.epoch);
          }
          return elements;
        },
        random_operators_);
  }

  auto unbatch() const {
    return flat_map([](const T& values) { return values; });
  }

  Pipeline shuffle(size_t buffer_size, uint64_t seed) const {
    const uint64_t key = order_key(seed);
    return derived<T>(
        [=](Elements<T> in, const At& at) {
          Elements<T> out{.error = in.error};
          std::vector<Item<T>> buffer;
          size_t next = 0;
          while (next < in.items.size() && buffer.size() < buffer_size) {
            buffer.push_back(in.items[next++]);
          }
          for (uint64_t k = 0; !buffer.empty(); ++k) {
            // Each output element waits for one input element.
            if (next == in.items.size() && !in.error.empty()) break;
            const uint32_t drawn =
                Random(key, at.order, k).below(static_cast<uint32_t>(buffer.size()));
            out.items.push_back(buffer[drawn]);
            if (next < in.items.size()) {
              buffer[drawn] = in.items[next++];
            } else {
              buffer[drawn] = buffer.back();
              buffer.pop_back();
            }
          }
          return out;
        },
        1);
  }

  Pipeline concatenate(const Pipeline& next) const {
    return Pipeline(
        [first = pass_, second = next.pass_](const At& at) {
          Elements<T> out = first(at.input(0));
          if (out.error.empty()) out.append(second(at.input(1)));
          return out;
        },
        std::max(random_operators_, next.random_operators_));
  }

  template <class U>
  auto zip(const Pipeline<U>& other) const {
    using Pair = std::tuple<T, U>;
    return Pipeline<Pair>(
        [first = pass_, second = other.pass()](const At& at) {
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
        std::max(random_operators_, other.random_operators()));
  }

  // `weights` are those of this pipeline and of `other`, as parts of 2^62.
  Pipeline sample(const Pipeline& other, std::array<uint64_t, 2> weights, uint64_t seed,
                  bool stop_on_empty) const {
    const uint64_t operators = std::max(random_operators_, other.random_operators_);
    const uint64_t key = order_key(seed);
    return Pipeline(
        [=, passes = std::array{pass_, other.pass_}](const At& at) {
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

  Pipeline choose(const Pipeline& other, const Pipeline<int64_t>& choices,
                  bool stop_on_empty) const {
    return Pipeline(
        [=, passes = std::array{pass_, other.pass_}](const At& at) {
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
        std::max({random_operators_, other.random_operators_, choices.random_operators()}));
  }

  Pipeline shard(size_t num_shards, size_t index, bool drop_remainder = false) const {
    return derived<T>([=](Elements<T> in, const At& at) {
      Elements<T> out{.error = in.error};
      const size_t whole = in.items.size() / num_shards * num_shards;
      for (size_t i = 0; i < in.items.size(); ++i) {
        const bool is_own = i % num_shards == index && (!drop_remainder || i < whole);
        if (is_own || must_be_yielded(in.items[i], at)) out.items.push_back(in.items[i]);
      }
      return out;
    });
  }

  // The input has random access, so its pass has no error at the end.
  Pipeline global_shuffle(uint64_t seed) const {
    const uint64_t key = order_key(seed);
    return derived<T>(
        [=](const Elements<T>& in, const At& at) {
          const Permutation order(in.items.size(), derive_key(key, at.order));
          Elements<T> out;
          for (size_t i = 0; i < in.items.size(); ++i) out.items.push_back(in.items[order(i)]);
          return out;
        },
        1);
  }

  auto enumerate(int64_t start = 0) const {
    using Pair = std::pair<int64_t, T>;
    return derived<Pair>([=](Elements<T> in, const At&) {
      Elements<Pair> out{.error = in.error};
      int64_t number = start;
      for (Item<T>& item : in.items) {
        out.items.push_back({item.id, {number++, std::move(item.value)}, item.error});
      }
      return out;
    });
  }

  Pipeline repeat(uint64_t count) const {
    return Pipeline(
        [=, pass = pass_](const At& at) {
          Elements<T> out;
          for (uint64_t i = 0; i < count && out.error.empty(); ++i) {
            out.append(pass({nested_epoch(at, i), at.errors_are_skipped}));
          }
          return out;
        },
        random_operators_);
  }

  Pipeline take(size_t count) const {
    return derived<T>([=](Elements<T> in, const At&) {
      if (count <= in.items.size()) in.error.clear();
      in.items.resize(std::min(in.items.size(), count));
      return in;
    });
  }

  Pipeline skip(size_t count) const {
    return derived<T>([=](Elements<T> in, const At& at) {
      Elements<T> out{.error = in.error};
      for (size_t i = 0; i < in.items.size(); ++i) {
        if (i >= count || must_be_yielded(in.items[i], at)) out.items.push_back(in.items[i]);
      }
      return out;
    });
  }

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

  // For operators that leave out elements: whether this one stands for a lost source.
  static bool must_be_yielded(const Item<T>& item, const At& at) {
    return ends_source(item.id) && !at.errors_are_skipped;
  }

  // change: (Elements<T>, const At&) -> Elements<U>
  template <class U, class F>
  Pipeline<U> derived(F change, uint64_t more_random_operators = 0) const {
    return Pipeline<U>([=, pass = pass_](const At& at) { return change(pass(at), at); },
                       random_operators_ + more_random_operators);
  }

 private:
  // function: Item<T> -> U; may throw
  template <class U, class F>
  Pipeline<U> each(F function, uint64_t more_random_operators = 0) const {
    return derived<U>(
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

  // Groups of `size` elements; `keeps_ends`: that stand for a lost source like one of theirs.
  Pipeline<std::vector<T>> grouped(size_t size, size_t shift, bool drop_remainder,
                                   bool keeps_ends) const {
    return derived<std::vector<T>>([=](Elements<T> in, const At& at) {
      Elements<std::vector<T>> out{.error = in.error};
      for (size_t first = 0; first < in.items.size(); first += shift) {
        const size_t end = std::min(in.items.size(), first + size);
        if (end < first + size) {
          bool is_lost = false;
          for (size_t i = first; i < end; ++i) {
            is_lost = is_lost || (keeps_ends && must_be_yielded(in.items[i], at));
          }
          if (!in.error.empty() || (drop_remainder && !is_lost)) break;
        }
        out.items.push_back(together({at.ids, out.items.size()}, in, first, end));
        if (keeps_ends) keep_end(out.items.back(), in, first, end);
      }
      return out;
    });
  }

  static void keep_end(Item<std::vector<T>>& out, const Elements<T>& in, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      if (ends_source(in.items[i].id)) out.id.index = kEndOfSource;
    }
  }

  // Combines the elements in [first, end) into one, with the first of their errors, if any.
  static Item<std::vector<T>> together(ElementId id, const Elements<T>& in, size_t first,
                                       size_t end) {
    Item<std::vector<T>> out{id};
    for (size_t i = first; i < end; ++i) {
      if (out.error.empty()) out.error = in.items[i].error;
      out.value.push_back(in.items[i].value);
    }
    return out;
  }

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
